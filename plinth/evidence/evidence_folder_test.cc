#include "plinth/evidence/evidence_folder.h"

#include <sys/stat.h>

#include <fstream>

#include "plinth/base/random.h"
#include "plinth/evidence/dsse.h"
#include "plinth/evidence/statement.h"
#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EvidenceFolderTest : public EvidenceTest {
 protected:
  void Refused(const std::string& folder, Fault fault, const std::string& sentence,
               const OpenOptions& options = {}) {
    Fault found = Fault::kNone;
    const auto evidence = OpenEvidence(folder, keys_, options, &found);
    ASSERT_FALSE(evidence.ok()) << folder;
    EXPECT_EQ(FaultName(found), FaultName(fault));
    EXPECT_EQ(ExitCode(evidence.status()), 2);
    EXPECT_EQ(std::string(evidence.status().message()), sentence);
  }
  // A copy of a unit's folder under a name that says nothing.
  std::string Copy(const std::string& folder) {
    const std::string copy = Path(StrCat("copy", ++copies_));
    fs::copy(folder, copy, fs::copy_options::recursive);
    return copy;
  }
  // Signs `payload` in the place of an envelope, as somebody could who has the key.
  void Resign(const std::string& folder, std::string_view file, const std::string& payload) {
    ASSERT_TRUE(
        WriteFile(JoinPath(folder, file), ToJson(*SignEnvelope(kInTotoPayloadType, payload, key_))).ok());
  }
  static std::string Payload(const std::string& folder, std::string_view file) {
    return ParseEnvelope(Text(JoinPath(folder, file)), "F")->payload;
  }
  static std::string Replaced(std::string text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return at == text.npos ? text : text.replace(at, what.size(), by);
  }

  int copies_ = 0;
};

TEST_F(EvidenceFolderTest, WrittenAndOpened) {
  const Unit unit = SampleUnit();
  const WrittenEvidence written = WriteUnit(unit);
  const std::string identity = *unit.identity.Digest();
  EXPECT_EQ(written.identity, identity);
  EXPECT_EQ(written.newest, Path(StrCat("evidence/", identity)));
  EXPECT_EQ(written.history, Path(StrCat("evidence/history/20261130T183000.125Z-", identity)));
  for (const std::string& folder : {written.newest, written.history}) {
    const auto e = OpenEvidence(folder, keys_);
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_EQ(e->identity, identity);
    EXPECT_EQ(e->verdict, Verdict::kPass);
    EXPECT_EQ(e->records.total, 2);
    EXPECT_EQ(e->signers, std::vector<std::string>{key_.public_key().keyid()});
    EXPECT_TRUE(e->self_attested);
    EXPECT_EQ(e->files.size(), 5U);
    EXPECT_EQ(e->unit.identity.parts, unit.identity.parts);
    EXPECT_EQ(e->unit.environment_json, unit.environment_json);
    EXPECT_EQ(e->unit.performance_json, unit.performance_json);
    EXPECT_EQ(e->unit.seeds, unit.seeds);
    EXPECT_EQ(e->unit.limits, unit.limits);
    EXPECT_EQ(e->unit.reproduce, unit.reproduce);
    EXPECT_EQ(e->unit.waivers[0].reason, unit.waivers[0].reason);
    EXPECT_EQ(e->unit.envelope.context, 512);
    EXPECT_EQ(e->unit.tool.commit, "884d944");
    EXPECT_EQ(e->unit.checklist[6].id, "repeatability");
    EXPECT_EQ(e->unit.model_files[1].sm3, "");
    EXPECT_EQ(e->unit.layers[1].text, unit.layers[1].text);
  }
  // Nothing that was prepared stays.
  EXPECT_EQ(*ListFolder(Path("evidence")), (std::vector<std::string>{identity, "history"}));
  EXPECT_EQ(ListFolder(Path("evidence/history"))->size(), 1U);
}

TEST_F(EvidenceFolderTest, NoByteOfAnyFileCanChange) {
  const WrittenEvidence written = WriteUnit();
  const std::string copy = Copy(written.newest);
  Random random(7);
  for (const char* name : {"statement.dsse.json", "test-result.dsse.json", "records.jsonl", "report.html",
                           "environment.json", "captures/candidate/capture.json"}) {
    const std::string path = JoinPath(copy, name), text = Text(path);
    for (int round = 0; round < 60; ++round) {
      // The first and last bytes, then any.
      const size_t at = round == 0 ? 0 : round == 1 ? text.size() - 1 : random.Below(text.size());
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 + random.Below(255)));
      ASSERT_TRUE(WriteFile(path, other).ok());
      Fault fault = Fault::kNone;
      EXPECT_FALSE(OpenEvidence(copy, keys_, {}, &fault).ok()) << name << " byte " << at;
      EXPECT_NE(fault, Fault::kNone);
      EXPECT_EQ(fault == Fault::kAltered, std::string_view(name) != "statement.dsse.json")
          << FaultName(fault);
    }
    for (const std::string& other : {text.substr(0, text.size() - 1), text + "\n", std::string()}) {
      if (std::string_view(name) == "statement.dsse.json" && other.size() > text.size())
        continue;  // space after JSON
      ASSERT_TRUE(WriteFile(path, other).ok());
      EXPECT_FALSE(OpenEvidence(copy, keys_).ok()) << name;
    }
    ASSERT_TRUE(WriteFile(path, text).ok());
  }
  EXPECT_TRUE(OpenEvidence(copy, keys_).ok());
}

TEST_F(EvidenceFolderTest, EachFaultHasItsSentence) {
  const WrittenEvidence written = WriteUnit();
  const auto digest = [](const std::string& text) { return *Sha256Hex(text); };
  std::string copy = Copy(written.newest);
  ASSERT_TRUE(WriteFile(copy + "/report.html", "<!doctype html><p>Passed</p>\n").ok());
  Refused(copy, Fault::kAltered,
          StrCat(copy, "/report.html: was altered: its sha256 is ", digest("<!doctype html><p>Passed</p>\n"),
                 "; the statement says ", digest("<!doctype html><p>passed</p>\n")));
  ASSERT_TRUE(WriteFile(copy + "/report.html", "x").ok());
  Refused(copy, Fault::kAltered,
          StrCat(copy, "/report.html: was altered: it holds 1 bytes; the statement says 29"));
  fs::remove(copy + "/report.html");
  Refused(copy, Fault::kMissingFile, StrCat(copy, "/report.html: is missing; the statement names it"));

  copy = Copy(written.newest);
  ASSERT_TRUE(WriteFile(copy + "/notes.txt", "x").ok());
  Refused(copy, Fault::kUnlistedFile,
          StrCat(copy, "/notes.txt: is not named by the statement; evidence holds nothing else"));
  fs::remove(copy + "/statement.dsse.json");
  Refused(copy, Fault::kMissing,
          StrCat(copy, ": holds no statement.dsse.json; a folder of evidence is expected"));
  Refused(Path("nosuch"), Fault::kMissing,
          StrCat(Path("nosuch"), ": there is no such folder; a folder of evidence is expected"));

  copy = Copy(written.newest);
  ASSERT_TRUE(WriteFile(copy + "/statement.dsse.json", "{}").ok());
  Refused(
      copy, Fault::kBrokenEnvelope,
      StrCat(copy,
             "/statement.dsse.json: is no DSSE envelope as Plinth writes it: it lacks the key \"payload\""));

  Refused(written.newest, Fault::kOtherIdentity,
          StrCat(written.newest, ": is evidence for the identity ", written.identity,
                 "; it proves nothing for ", digest("other")),
          {.identity = digest("other")});
}

TEST_F(EvidenceFolderTest, KeysDecide) {
  const WrittenEvidence written = WriteUnit();
  const SigningKey other = *SigningKey::Generate();
  const std::string copy = Copy(written.newest);
  TrustedKeys theirs;
  theirs.Add(other.public_key(), /*local=*/false);
  Fault fault = Fault::kNone;
  EXPECT_THAT(
      std::string(OpenEvidence(copy, theirs, {}, &fault).status().message()),
      StartsWith(StrCat(copy, "/statement.dsse.json: it is signed by keyid \"", key_.public_key().keyid())));
  EXPECT_EQ(fault, Fault::kUntrustedKey);
  // Somebody else signs the same statement with a key of his own.
  const DsseEnvelope envelope = *SignEnvelope(kInTotoPayloadType, Payload(copy, kStatementFile), other);
  ASSERT_TRUE(WriteFile(copy + "/statement.dsse.json", ToJson(envelope)).ok());
  EXPECT_FALSE(OpenEvidence(copy, keys_, {}, &fault).ok());
  EXPECT_EQ(fault, Fault::kUntrustedKey);
  // A second good signature, by a key that is named, makes it more than self-attested.
  DsseEnvelope both = *ParseEnvelope(Text(written.newest + "/statement.dsse.json"), "F");
  ASSERT_TRUE(CountersignEnvelope(both, other).ok());
  ASSERT_TRUE(WriteFile(copy + "/statement.dsse.json", ToJson(both)).ok());
  keys_.Add(other.public_key(), /*local=*/false);
  const auto evidence = OpenEvidence(copy, keys_);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_EQ(evidence->signers.size(), 2U);
  EXPECT_FALSE(evidence->self_attested);
}

TEST_F(EvidenceFolderTest, OddFilesAreRefused) {
  const WrittenEvidence written = WriteUnit();
  std::string copy = Copy(written.newest);
  const auto odd = [&](const std::string& what) {
    Refused(copy, Fault::kOddFile, StrCat(what, "; the folder is refused"));
    copy = Copy(written.newest);
  };
  fs::rename(copy + "/report.html", Path("elsewhere"));
  fs::create_symlink(Path("elsewhere"), copy + "/report.html");
  odd(StrCat(copy, "/\"report.html\" is a symbolic link; evidence holds regular files only"));
  ASSERT_EQ(mkfifo((copy + "/pipe").c_str(), 0600), 0);
  odd(StrCat(copy, "/\"pipe\" is a named pipe; evidence holds regular files only"));
  ASSERT_TRUE(WriteFile(copy + "/.hidden", "x").ok());
  odd(StrCat(copy, "/\".hidden\" has a name that no file of evidence has"));
  ASSERT_TRUE(WriteFile(copy + "/a\n\xff", "x").ok());
  odd(StrCat(copy, "/\"a??\" has a name that no file of evidence has"));
  fs::create_directory(copy + "/empty");
  odd(StrCat(copy, "/\"empty\" is an empty folder"));
  fs::create_directories(copy + "/1/2/3/4/5/6/7/8");
  odd(StrCat(copy, "/1/2/3/4/5/6/7/\"8\" lies deeper than folders of evidence go"));
  // The statement itself a link, and the folder.
  fs::rename(copy + "/statement.dsse.json", Path("statement"));
  fs::create_symlink(Path("statement"), copy + "/statement.dsse.json");
  Fault fault = Fault::kNone;
  EXPECT_FALSE(OpenEvidence(copy, keys_, {}, &fault).ok());
  EXPECT_EQ(fault, Fault::kOddFile);
  fs::create_symlink(written.newest, Path("link"));
  Refused(Path("link"), Fault::kOddFile,
          StrCat(Path("link"), ": is a symbolic link; a folder of evidence is expected"));
}

TEST_F(EvidenceFolderTest, HugeFilesAreRefusedBeforeTheyAreRead) {
  const WrittenEvidence written = WriteUnit();
  const std::string copy = Copy(written.newest);
  fs::resize_file(copy + "/report.html", uintmax_t{1} << 40);  // sparse
  Refused(copy, Fault::kAltered,
          StrCat(copy, "/report.html: was altered: it holds 1099511627776 bytes; the statement says 29"));
  fs::resize_file(copy + "/statement.dsse.json", uintmax_t{1} << 40);
  Refused(copy, Fault::kOddFile,
          StrCat(copy, "/statement.dsse.json: holds 1099511627776 bytes; at most 67108864 are allowed"));
}

TEST_F(EvidenceFolderTest, TooManyFiles) {
  const WrittenEvidence written = WriteUnit();
  const std::string copy = Copy(written.newest);
  for (int i = 0; i < 1024; ++i) std::ofstream(StrCat(copy, "/x", i));  // quicker than flushing each
  Fault fault = Fault::kNone;
  EXPECT_THAT(std::string(OpenEvidence(copy, keys_, {}, &fault).status().message()),
              HasSubstr("is one more than the 1024 files allowed; the folder is refused"));
  EXPECT_EQ(fault, Fault::kOddFile);
}

TEST_F(EvidenceFolderTest, PlacesAreHeldTo) {
  Unit old_unit = SampleUnit(), other = SampleUnit("2026-11-30T19:00:00Z"),
       newer = SampleUnit("2026-12-01T00:00:00Z");
  other.identity.parts[4].second = "v4";
  const WrittenEvidence first = WriteUnit(old_unit), foreign = WriteUnit(other);
  const std::string kept = Copy(first.newest);
  const WrittenEvidence second = WriteUnit(newer);
  EXPECT_EQ(second.newest, first.newest);
  EXPECT_EQ(OpenEvidence(second.newest, keys_)->unit.finished, newer.finished);
  EXPECT_EQ(OpenEvidence(first.history, keys_)->unit.finished, old_unit.finished);
  // An older unit, good in itself, in the newest place.
  fs::remove_all(second.newest);
  fs::copy(kept, second.newest, fs::copy_options::recursive);
  Refused(second.newest, Fault::kOlderUnit,
          StrCat(second.newest, ": holds the unit of 2026-11-30T18:30:00.125Z, but ", second.history,
                 " is newer; an older unit proves nothing about now"));
  EXPECT_TRUE(OpenEvidence(second.newest, keys_, {.check_place = false}).ok());
  // Old evidence in the place of another identity.
  fs::remove_all(foreign.newest);
  fs::copy(kept, foreign.newest, fs::copy_options::recursive);
  Refused(foreign.newest, Fault::kOtherIdentity,
          StrCat(foreign.newest, ": is evidence for the identity ", first.identity, ", in the place of ",
                 foreign.identity));
  // One unit of the history in the place of another.
  fs::remove_all(second.history);
  fs::copy(kept, second.history, fs::copy_options::recursive);
  Refused(second.history, Fault::kOlderUnit,
          StrCat(second.history,
                 ": holds the unit of 2026-11-30T18:30:00.125Z, in the place of the one of "
                 "20261201T000000Z"));
}

TEST_F(EvidenceFolderTest, ClaimsMustAgree) {
  const WrittenEvidence written = WriteUnit();
  const std::string statement = Payload(written.newest, kStatementFile);
  const std::string test_result = Payload(written.newest, kTestResultFile);
  std::string copy = Copy(written.newest);
  const auto broken = [&](const std::string& what, const std::string& by, const std::string& sentence) {
    Resign(copy, kStatementFile, Replaced(statement, what, by));
    Fault fault = Fault::kNone;
    const auto evidence = OpenEvidence(copy, keys_, {}, &fault);
    EXPECT_EQ(FaultName(fault), "broken-statement") << what;
    EXPECT_EQ(std::string(evidence.status().message()), StrCat(copy, "/statement.dsse.json", sentence));
  };
  broken("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1",
         ": \"_type\" is \"https://in-toto.io/Statement/v0.1\"; https://in-toto.io/Statement/v1 is expected");
  broken("urn:plinth:acceptance:v1", "urn:plinth:acceptance:v2",
         ": \"predicateType\" is \"urn:plinth:acceptance:v2\"; urn:plinth:acceptance:v1 is expected");
  broken("\"value\":\"v3\"", "\"value\":\"v4\"",
         ".predicate.identity: \"digest\" is not the digest of the parts");
  broken("\"verdict\":\"pass\"", "\"verdict\":\"warn\"",
         ".predicate: \"verdict\" is \"warn\"; pass, as the answers give, is expected");
  broken("\"answer\":\"yes\"", "\"answer\":\"maybe\"",
         ".predicate.checklist[0]: \"answer\" is \"maybe\"; yes, warned, no or unproven is expected");
  broken("\"id\":\"inputs\"", "\"id\":\"input\"",
         ".predicate.checklist[1]: \"id\" is \"input\"; the ids are environment, inputs, operators, layers, "
         "task, "
         "performance, repeatability");
  broken("\"total\":2", "\"total\":3", ".predicate.records: \"total\" is not the sum of the counts");
  broken("\"total\":2,\"passed\":1,\"warned\":1,\"failed\":0",
         "\"total\":3,\"passed\":1,\"warned\":1,\"failed\":1",
         ".predicate.records: 1 records failed, but the verdict is pass");
  broken("\"name\":\"report.html\"", "\"name\":\"../report.html\"",
         ".subject[3]: the file \"../report.html\" has a name that no evidence has, or lacks its sm3");
  broken("\"name\":\"report.html\"", "\"name\":\"records.jsonl\"",
         ".subject[3]: the name \"records.jsonl\" appears twice");
  broken("\"name\":\"environment.json\",\"digest\"", "\"name\":\"machine.json\",\"digest\"",
         ": no subject names environment.json");
  broken("\"name\":\"model:plinth-ts-0\"", "\"name\":\"model:plinth-ts-1\"",
         ".subject[5]: names another model than the predicate");
  broken("\"finished\":\"2026-11-30T18:30:00.125Z\"", "\"finished\":\"yesterday\"",
         ": the time \"yesterday\" is not RFC 3339 in UTC, as 2026-11-30T18:30:00.125Z");
  broken("\"repeats\":5", "\"repeats\":-5",
         ".predicate: \"repeats\" is -5; an integer from 0 on is expected");
  broken(StrCat("\"name\":\"config.json\",\"digest\":{\"sha256\":\"", *Sha256Hex("config")),
         StrCat("\"name\":\"config.json\",\"digest\":{\"sha256\":\"", *Sha256Hex("another")),
         ".predicate: the model's digest is not that of the files listed");

  // Records and test result are held against the statement although their own digests are right.
  copy = Copy(written.newest);
  Resign(copy, kStatementFile, Replaced(statement, "\"passed\":1,\"warned\":1", "\"passed\":2,\"warned\":0"));
  Refused(copy, Fault::kRecords,
          StrCat(copy, "/records.jsonl: holds 1 records that are passed; the statement says 2"));
  const auto with_result = [&](const std::string& payload) {
    copy = Copy(written.newest);
    const std::string before = Text(JoinPath(copy, kTestResultFile));
    Resign(copy, kTestResultFile, payload);
    const std::string after = Text(JoinPath(copy, kTestResultFile));
    std::string changed = Replaced(statement, *Sha256Hex(before), *Sha256Hex(after));
    changed = Replaced(changed, *Sm3Hex(before), *Sm3Hex(after));
    changed = Replaced(changed, StrCat("\"bytes\":", before.size()), StrCat("\"bytes\":", after.size()));
    Resign(copy, kStatementFile, changed);
  };
  with_result(Replaced(test_result, "PASSED", "FAILED"));
  Refused(
      copy, Fault::kTestResult,
      StrCat(copy,
             "/test-result.dsse.json: \"result\" is \"\"FAILED\"\"; by the statement it is \"\"PASSED\"\""));
  with_result(Replaced(test_result, "\"task\",", ""));
  Fault fault = Fault::kNone;
  EXPECT_THAT(std::string(OpenEvidence(copy, keys_, {}, &fault).status().message()),
              HasSubstr("\"passedTests\" is"));
  EXPECT_EQ(fault, Fault::kTestResult);
}

TEST_F(EvidenceFolderTest, TestResultFollowsTheAnswers) {
  Unit unit = SampleUnit();
  unit.Item("performance")->answer = Answer::kUnproven;
  unit.Item("layers")->answer = Answer::kWarned;
  WrittenEvidence written = WriteUnit(unit);
  std::string payload = Payload(written.newest, kTestResultFile);
  EXPECT_EQ(payload.substr(payload.find("\"passedTests\"")),
            R"("passedTests":["environment","inputs","operators","task","repeatability"],)"
            R"("warnedTests":["layers","performance: unproven"],"failedTests":[]}})");
  EXPECT_THAT(payload, HasSubstr("\"result\":\"WARNED\""));
  EXPECT_EQ(OpenEvidence(written.newest, keys_)->verdict, Verdict::kWarn);
  unit.finished = "2026-12-01T00:00:00Z";
  unit.Item("task")->answer = Answer::kNo;
  written = WriteUnit(unit);
  payload = Payload(written.newest, kTestResultFile);
  EXPECT_THAT(payload, HasSubstr("\"result\":\"FAILED\""));
  EXPECT_THAT(payload, HasSubstr("\"failedTests\":[\"task\"]"));
  EXPECT_EQ(OpenEvidence(written.newest, keys_)->verdict, Verdict::kFail);
}

TEST_F(EvidenceFolderTest, UnitsThatContradictThemselvesAreNotWritten) {
  const auto refuse = [&](const Unit& unit, const std::vector<EvidenceFile>& files, const std::string& what) {
    const auto written = WriteEvidence(Path("bad"), unit, files, key_);
    EXPECT_EQ(written.status().code(), absl::StatusCode::kInvalidArgument) << written.status();
    EXPECT_THAT(std::string(written.status().message()), HasSubstr(what));
    if (const auto units = ListUnits(Path("bad")); units.ok()) {
      EXPECT_EQ(units->newest.size() + units->history.size(), 0U);
      EXPECT_EQ(*ListFolder(Path("bad")), std::vector<std::string>{"history"});
      EXPECT_EQ(ListFolder(Path("bad/history"))->size(), 0U);
    }
  };
  const auto files = SampleFiles();
  const auto with = [](auto change) {
    Unit unit = SampleUnit();
    change(unit);
    return unit;
  };
  refuse(with([](Unit& u) { u.identity.parts[0].second = "abc"; }), files, "part \"model\" of the identity");
  refuse(with([](Unit& u) { u.identity.parts.clear(); }), files, "identity without parts");
  refuse(with([](Unit& u) { u.model_name = ""; }), files, "the model has no name");
  refuse(with([](Unit& u) { u.envelope.context = 0; }), files, "each size of the envelope must be 1 or more");
  refuse(with([](Unit& u) { u.finished = "2026-13-01T00:00:00Z"; }), files, "is not RFC 3339 in UTC");
  refuse(with([](Unit& u) { u.started = "2026-12-01 00:00:00"; }), files, "is not RFC 3339 in UTC");
  refuse(with([](Unit& u) { std::swap(u.checklist[0], u.checklist[1]); }), files,
         "question 1 has the id \"inputs\"");
  refuse(with([](Unit& u) { u.rules_sha256 = ""; }), files, "the rule set needs its sha256");
  refuse(with([](Unit& u) { u.inputs[0].sha256 = "x"; }), files,
         "input \"cases.safetensors\" needs a name and 64");
  refuse(with([](Unit& u) { u.waivers[0].owner = ""; }), files, "a waiver needs a subject, an owner");
  refuse(with([](Unit& u) { u.repeats = -1; }), files, "the number of repeats is negative");
  refuse(with([](Unit& u) { u.performance_json = "{"; }), files, "the unit's performance: line 1: not JSON");
  refuse(with([](Unit& u) { u.performance_json = "[]"; }), files, "is not a JSON object");
  refuse(with([](Unit& u) { u.environment_json = "1"; }), files, "the unit's environment: a JSON object");
  const auto file = [&](const std::string& name, const std::string& text) {
    auto changed = files;
    changed.push_back({name, text, ""});
    return changed;
  };
  for (const char* name : {"../x", "/x", "", ".x", "a//b", "a/", "a b", "report.html", "environment.json",
                           "statement.dsse.json", "x/.y", "1/2/3/4/5/6/7/8/9"}) {
    refuse(SampleUnit(), file(name, ""), "is taken or cannot be used");
  }
  refuse(SampleUnit(), {}, "holds no records.jsonl");
  refuse(SampleUnit(), {{"records.jsonl", "{\"status\":\"failed\"}\n", ""}},
         "1 records failed, but every question");
  refuse(SampleUnit(), {{"records.jsonl", "{\"status\":\"good\"}\n", ""}},
         "records.jsonl: line 1: \"status\" is \"good\"; one of passed, warned, failed");
  refuse(SampleUnit(), {{"records.jsonl", "{}\n{", ""}}, "records.jsonl: line 1: \"status\" is missing");
  refuse(SampleUnit(), {{"records.jsonl", "{\"status\":\"passed\"}", ""}},
         "line 1 has no end: the file was cut");
}

TEST_F(EvidenceFolderTest, FilesAreCopiedFromTheirSources) {
  std::string large(3'000'000, 'x');
  ASSERT_TRUE(WriteFile(Path("large"), large).ok());
  auto files = SampleFiles();
  files.push_back({"captures/tensors.safetensors", "", Path("large")});
  const WrittenEvidence written = WriteUnit(SampleUnit(), files);
  EXPECT_EQ(Text(written.newest + "/captures/tensors.safetensors"), large);
  EXPECT_TRUE(OpenEvidence(written.history, keys_).ok());
  files.back().source = Path("nosuch");
  const auto missing = WriteEvidence(Path("evidence"), SampleUnit("2026-12-01T00:00:00Z"), files, key_);
  EXPECT_EQ(std::string(missing.status().message()),
            StrCat(Path("nosuch"), ": cannot be opened: No such file or directory"));
  EXPECT_TRUE(OpenEvidence(written.newest, keys_).ok());
  const auto again = WriteEvidence(Path("evidence"), SampleUnit(), SampleFiles(), key_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(EvidenceFolderTest, UnitsAreListedByTime) {
  WriteUnit(SampleUnit("2026-11-30T18:30:00Z"));
  WriteUnit(SampleUnit("2026-11-30T18:30:00.5Z"));
  WriteUnit(SampleUnit("2025-01-01T00:00:00Z"));
  fs::create_directories(Path("evidence/history/.left.new"));
  const auto units = ListUnits(Path("evidence"));
  ASSERT_TRUE(units.ok());
  EXPECT_EQ(units->newest.size(), 1U);
  ASSERT_EQ(units->history.size(), 3U);
  EXPECT_THAT(units->history[0], HasSubstr("/20250101T000000Z-"));
  EXPECT_THAT(units->history[1], HasSubstr("/20261130T183000Z-"));
  EXPECT_THAT(units->history[2], HasSubstr("/20261130T183000.5Z-"));
  EXPECT_FALSE(ListUnits(Path("nosuch")).ok());
}

}  // namespace
}  // namespace plinth::evidence
