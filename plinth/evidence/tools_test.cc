#include "plinth/evidence/tools.h"

#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <iterator>
#include <string>
#include <thread>

#include "plinth/evidence/tree_fixture.h"

namespace plinth::evidence {
namespace {

class ToolsTest : public TreeTest {
 protected:
  ToolCommand Script(const std::string& name, const std::string& body) const {
    const std::string path = folder_ + "/" + name;
    WriteAt(path, "#!/bin/sh\n" + body + "\n");
    chmod(path.c_str(), 0755);
    return {name, path, {"one", "two words"}};
  }
};

TEST_F(ToolsTest, KeepsBothStreamsAndTheExitCode) {
  const auto outputs = RunTools({Script("good", "echo \"$1|$2\"; echo error >&2"),
                                 Script("bad", "echo no; exit 7"),
                                 Script("killed", "kill -9 $$"),
                                 {"absent", "plinth-no-such-tool", {}}},
                                10);
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ(outputs->at(0).text, "one|two words\nerror\n");
  EXPECT_EQ(outputs->at(0).exit_code, 0);
  EXPECT_EQ(outputs->at(0).source, folder_ + "/good");
  EXPECT_EQ(outputs->at(1).exit_code, 7);
  EXPECT_EQ(outputs->at(2).exit_code, 137);
}

TEST_F(ToolsTest, StopsWhatHangsAndWhatItStarted) {
  const std::string mark = folder_ + "/child";
  const auto begin = std::chrono::steady_clock::now();
  const auto outputs = RunTools({Script("hung", "echo begun; sleep 60 & echo $! > " + mark + "; wait")}, 0.5);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(outputs.ok());
  EXPECT_TRUE(outputs->at(0).hung);
  EXPECT_EQ(outputs->at(0).exit_code, 124);
  EXPECT_EQ(outputs->at(0).text, "begun\n");
  EXPECT_LT(took.count(), 20);
  int child = 0;
  std::ifstream(mark) >> child;
  ASSERT_GT(child, 0);
  // Gone, or a zombie that nobody has waited for yet; on a busy machine a killed process takes a moment to
  // die.
  std::string text;
  for (int wait = 0; wait < 500; ++wait) {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    text.assign(std::istreambuf_iterator<char>(status), std::istreambuf_iterator<char>());
    if (text.empty() || text.find(") Z ") != text.npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << text;
}

TEST_F(ToolsTest, DoesNotWaitForWhatAToolLeavesBehind) {
  const auto begin = std::chrono::steady_clock::now();
  const auto outputs = RunTools({Script("leaves", "sleep 60 & echo done")}, 30);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(outputs->at(0).text, "done\n");
  EXPECT_EQ(outputs->at(0).exit_code, 0);
  EXPECT_LT(took.count(), 20);
}

TEST_F(ToolsTest, KeepsABoundedPartOfEndlessOutput) {
  const auto outputs = RunTools({Script("endless", "while :; do echo 0123456789; done")}, 20);
  EXPECT_TRUE(outputs->at(0).cut);
  EXPECT_EQ(outputs->at(0).text.size(), kMostToolBytes);
}

TEST_F(ToolsTest, SaysWhatCannotBeStarted) {
  const ToolCommand broken = Script("broken", "");
  WriteAt(broken.program, "#!/no/such/interpreter\n");
  const auto outputs = RunTools({broken}, 5);
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(outputs->at(0).exit_code, 126);
  EXPECT_EQ(outputs->at(0).text, "cannot be started: No such file or directory");
}

TEST_F(ToolsTest, ReadsRecordedOutputs) {
  Write("/plinth-recorded/tools/rocminfo.txt", "text");
  Write("/plinth-recorded/tools/hy-smi.txt", "");
  Write("/plinth-recorded/tools/hy-smi.status", "124\n");
  const auto outputs = RecordedTools(*SystemTree::Open(root_), VendorTools());
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].name, "hy-smi");
  EXPECT_TRUE(outputs[0].hung);
  EXPECT_EQ(outputs[1].name, "rocminfo");
  EXPECT_EQ(outputs[1].text, "text");
  EXPECT_EQ(outputs[1].source, "plinth-recorded/tools/rocminfo.txt");
}

}  // namespace
}  // namespace plinth::evidence
