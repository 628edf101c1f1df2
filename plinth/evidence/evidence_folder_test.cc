#include "plinth/evidence/evidence_folder.h"

#include <sys/stat.h>

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

}  // namespace
}  // namespace plinth::evidence
