#include "plinth/evidence/system_tree.h"

#include <sys/stat.h>

#include "plinth/evidence/tree_fixture.h"

namespace plinth::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using SystemTreeTest = TreeTest;

TEST_F(SystemTreeTest, FollowsLinksInsideTheTreeOnly) {
  WriteAt(folder_ + "/secret", "outside");
  Write("/secret", "inside");
  Write("/a/file", "text\n");
  Link("/absolute", "/a/file");
  Link("/up", "../../../../secret");
  Link("/chain", "absolute");
  Link("/folder", "/a");
  Link("/outside", folder_ + "/secret");  // inside the tree there is no such path
  const SystemTree tree = *SystemTree::Open(root_);
  EXPECT_EQ(tree.Read("/absolute"), "text\n");
  EXPECT_EQ(tree.Read("/chain"), "text\n");
  EXPECT_EQ(tree.Read("/folder/file"), "text\n");
  EXPECT_EQ(tree.Read("/up"), "inside");
  EXPECT_EQ(tree.Read("/../../secret"), "inside");
  EXPECT_EQ(tree.Read("/outside"), std::nullopt);
  EXPECT_EQ(tree.Resolve("/folder/../absolute"), "/a/file");
  EXPECT_EQ(tree.LinkTarget("/chain"), "absolute");
  EXPECT_EQ(tree.LinkTarget("/a/file"), "");
  EXPECT_THAT(tree.List("/folder"), ElementsAre("file"));
  EXPECT_THAT(tree.troubles(), IsEmpty());
}

TEST_F(SystemTreeTest, EndsWhereLinksGoRound) {
  Link("/x", "y");
  Link("/y", "x");
  Link("/self", "self/self");
  Link("/deep/here", "..");
  const SystemTree tree = *SystemTree::Open(root_);
  for (const char* path : {"/x", "/y", "/self", "/x/more"}) {
    EXPECT_EQ(tree.Read(path), std::nullopt) << path;
    EXPECT_EQ(tree.Resolve(path), "") << path;
  }
  EXPECT_EQ(tree.Resolve("/deep/here/deep/here/deep"), "/deep");
}

TEST_F(SystemTreeTest, CutsWhatIsHuge) {
  Write("/huge", std::string(1 << 20, 'x'));
  const SystemTree tree = *SystemTree::Open(root_);
  EXPECT_EQ(tree.Read("/huge", 100)->size(), 100u);
  EXPECT_EQ(tree.ReadLine("/huge").size(), 200u);
  EXPECT_THAT(tree.troubles(), ElementsAre("/huge: only its first 100 bytes were read",
                                           "/huge: only its first 65536 bytes were read"));
}

TEST_F(SystemTreeTest, ReadsNoPipeAndNoFolder) {
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  Write("/folder/file", "");
  const SystemTree tree = *SystemTree::Open(root_);
  EXPECT_EQ(tree.Read("/pipe"), std::nullopt);
  EXPECT_EQ(tree.Read("/folder"), std::nullopt);
  EXPECT_EQ(tree.Read("/missing"), std::nullopt);
  EXPECT_EQ(tree.Read(std::string_view("/folder\0/file", 13)), std::nullopt);
  EXPECT_THAT(tree.List("/missing"), IsEmpty());
  EXPECT_THAT(tree.List("/folder/file"), IsEmpty());
}

TEST_F(SystemTreeTest, MakesBinaryTextPrintable) {
  Write("/binary", std::string_view("\0\1\2name\x7f\n\xff\xfe", 11));
  const SystemTree tree = *SystemTree::Open(root_);
  EXPECT_EQ(tree.ReadLine("/binary"), "??name?");
}

TEST_F(SystemTreeTest, TakesPermissionsFromTheManifest) {
  Write("/plinth-recorded/nodes.txt",
        "# ACCESS MODE OWNER GROUP PATH\n"
        "none crw-rw---- root video /dev/kfd\n\n"
        "rw   crw-rw-rw- root render /dev/dri/renderD128\n"
        "none -rw------- root root /sys/secret\n");
  Write("/sys/secret", "hidden");
  const SystemTree tree = *SystemTree::Open(root_);
  const auto nodes = tree.Nodes({"/dev/"});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes.at("/dev/kfd").access, "none");
  EXPECT_EQ(nodes.at("/dev/kfd").mode, "crw-rw----");
  EXPECT_EQ(nodes.at("/dev/kfd").owner, "root:video");
  EXPECT_EQ(nodes.at("/dev/dri/renderD128").access, "rw");
  EXPECT_EQ(tree.Read("/sys/secret"), std::nullopt);
  EXPECT_THAT(tree.troubles(), ElementsAre("/sys/secret: cannot be read"));
}

TEST_F(SystemTreeTest, RefusesWhatIsNoTree) {
  const auto message = [](const std::string& root) {
    return std::string(SystemTree::Open(root).status().message());
  };
  EXPECT_EQ(message(folder_ + "/no"), folder_ + "/no: cannot be opened: No such file or directory");
  WriteAt(folder_ + "/file", "");
  EXPECT_EQ(message(folder_ + "/file"),
            folder_ + "/file: is a file; a folder with a recorded system is expected");
  Write("/plinth-recorded/nodes.txt", "rw crw root root /dev/kfd\nyes crw root root /dev/kfd\n");
  EXPECT_EQ(message(root_), root_ +
                                "/plinth-recorded/nodes.txt: line 2: \"yes crw root root /dev/kfd\" is not "
                                "\"ACCESS MODE OWNER GROUP /PATH\" with access rw, r, w or none");
  EXPECT_FALSE(SystemTree::Open("/")->recorded());
}

}  // namespace
}  // namespace plinth::evidence
