#include "plinth/evidence/gate.h"

#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class GateTest : public EvidenceTest {
 protected:
  GateTest() {
    request_.identity = SampleUnit().identity;
    request_.sizes = {1, 512, 96};
    request_.model_name = "plinth-ts-0";
    request_.model = "/models/my model";
    request_.folders = {Path("first"), Path("evidence")};
  }
  GateResult Ask() { return Check(request_, keys_); }
  void Expect(State state, const std::string& sentence,
              const std::string& command = "plinth accept --model '/models/my model'") {
    const GateResult result = Ask();
    EXPECT_EQ(StateName(result.state), StateName(state)) << result.sentence;
    EXPECT_EQ(result.sentence, sentence);
    EXPECT_EQ(result.command, state == State::kProven ? "" : command);
    EXPECT_EQ(result.identity, *request_.identity.Digest());
  }

  GateRequest request_;
};

TEST_F(GateTest, NothingThere) {
  Expect(State::kUnproven, "no acceptance has left evidence for this model, device and precision");
}

TEST_F(GateTest, CommandSaysWhereEvidenceShallGo) {
  request_.evidence = "/var/lib/my evidence";
  Expect(State::kUnproven, "no acceptance has left evidence for this model, device and precision",
         "plinth accept --model '/models/my model' --evidence '/var/lib/my evidence'");
}

TEST_F(GateTest, Proven) {
  const WrittenEvidence written = WriteUnit();
  Expect(State::kProven, "the evidence of 2026-11-30T18:30:00.125Z covers it, self-attested");
  EXPECT_EQ(Ask().folder, written.newest);
  EXPECT_TRUE(Ask().self_attested);
  keys_ = {};
  keys_.Add(key_.public_key(), /*local=*/false);
  Expect(State::kProven, "the evidence of 2026-11-30T18:30:00.125Z covers it");
  request_.sizes = {};  // nothing particular is asked
  Expect(State::kProven, "the evidence of 2026-11-30T18:30:00.125Z covers it");
}

TEST_F(GateTest, WarningsAndMissingSpeedAreNoRefusal) {
  Unit unit = SampleUnit();
  unit.Item("layers")->answer = Answer::kWarned;
  unit.Item("performance")->answer = Answer::kUnproven;
  WriteUnit(unit);
  Expect(State::kProven, "the evidence of 2026-11-30T18:30:00.125Z covers it, self-attested, with warnings");
}

TEST_F(GateTest, OpenQuestionsAreUnproven) {
  Unit unit = SampleUnit();
  unit.Item("task")->answer = unit.Item("repeatability")->answer = Answer::kUnproven;
  WriteUnit(unit);
  Expect(State::kUnproven, "the evidence of 2026-11-30T18:30:00.125Z leaves unproven: task, repeatability");
}

TEST_F(GateTest, BeyondTheEnvelope) {
  WriteUnit();
  request_.sizes = {65, 512, 97};
  Expect(State::kUnproven,
         "the evidence of 2026-11-30T18:30:00.125Z does not cover a batch of 65 (covered: up to 64), a "
         "horizon of 97 "
         "(covered: up to 96)");
}

TEST_F(GateTest, Failed) {
  WriteUnit();
  Unit unit = SampleUnit("2026-12-01T00:00:00Z");
  unit.Item("operators")->answer = Answer::kNo;
  unit.Item("operators")->text = "softmax differs by 3e-2";
  WriteUnit(unit);
  Expect(
      State::kFailed,
      "the evidence of 2026-12-01T00:00:00Z says that it computes wrong: operators: softmax differs by 3e-2",
      unit.reproduce);
}

TEST_F(GateTest, StaleNamesWhatChanged) {
  Unit older = SampleUnit("2026-11-29T00:00:00Z");
  older.identity.parts[9].second = "0.0.9";
  WriteUnit(older);
  WriteUnit();
  request_.identity.parts[4].second = "v4";
  request_.identity.parts[1].second = *Sha256Hex("another graph");
  Expect(State::kStale, StrCat("the evidence of 2026-11-30T18:30:00.125Z is for another state: graph was ",
                               Sha256Hex("graph")->substr(0, 12), "..., is ",
                               Sha256Hex("another graph")->substr(0, 12), "...; isa was v3, is v4"));
  // Other weights under the same name are the same model in another state; another name and other weights are
  // not.
  request_.identity = SampleUnit().identity;
  request_.identity.parts[0].second = *Sha256Hex("retrained");
  EXPECT_EQ(Ask().state, State::kStale);
  request_.model_name = "other";
  Expect(State::kUnproven, "no acceptance has left evidence for this model, device and precision");
}

TEST_F(GateTest, WhatDoesNotVerifyProvesNothing) {
  const WrittenEvidence written = WriteUnit();
  ASSERT_TRUE(WriteFile(written.newest + "/report.html", "").ok());
  Expect(State::kUnproven,
         StrCat(written.newest, "/report.html: was altered: it holds 0 bytes; the statement says 29"));
  // A good copy further on in the order of search counts.
  fs::create_directories(Path("third"));
  fs::copy(written.history, Path("third/" + written.identity), fs::copy_options::recursive);
  request_.folders.push_back(Path("third"));
  Expect(State::kProven, "the evidence of 2026-11-30T18:30:00.125Z covers it, self-attested");
  request_.folders.pop_back();
  fs::remove_all(written.newest);
  fs::create_symlink(written.history, written.newest);
  EXPECT_EQ(Ask().state, State::kUnproven);
  // Signed by a stranger.
  fs::remove(written.newest);
  fs::copy(written.history, written.newest, fs::copy_options::recursive);
  keys_ = {};
  EXPECT_THAT(Ask().sentence, HasSubstr("and by no key that is trusted here (there is none)"));
  EXPECT_EQ(Ask().state, State::kUnproven);
}

TEST_F(GateTest, StatesOfOthersKeysAreNotToldAsStale) {
  WriteUnit();
  request_.identity.parts[4].second = "v4";
  keys_ = {};
  Expect(State::kUnproven, "no acceptance has left evidence for this model, device and precision");
}

TEST_F(GateTest, FirstFolderDecides) {
  Unit failed = SampleUnit("2026-12-01T00:00:00Z");
  failed.Item("task")->answer = Answer::kNo;
  ASSERT_TRUE(WriteEvidence(Path("first"), failed, SampleFiles(), key_).ok());
  WriteUnit();
  EXPECT_EQ(Ask().state, State::kFailed);
}

TEST_F(GateTest, IdentityWithoutDigest) {
  request_.identity.parts.clear();
  const GateResult result = Ask();
  EXPECT_EQ(result.state, State::kUnproven);
  EXPECT_EQ(result.sentence, "a numerics identity without parts");
}

TEST_F(GateTest, SearchOrder) {
  EXPECT_EQ(SearchFolders("x", "m"),
            (std::vector<std::string>{"x", "/var/lib/plinth/evidence", "m/evidence"}));
  EXPECT_EQ(SearchFolders("", "m/"), (std::vector<std::string>{"/var/lib/plinth/evidence", "m/evidence"}));
}

}  // namespace
}  // namespace plinth::evidence
