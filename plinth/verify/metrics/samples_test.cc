#include "plinth/verify/metrics/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/digest.h"
#include "plinth/verify/metrics/test_files.h"

namespace plinth::verify::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Joined {
  std::vector<std::string> samples;  // "ID@INDEX:REFERENCE/CANDIDATE/TRUTH [TAGS]"
  Status status;
  SampleDigests digests;
};

std::string Value(const Row& row) {
  const auto value = row.Real("v");
  return value.ok() ? StrCat(*value) : "-";
}

class SamplesTest : public testing::Test {
 protected:
  // Files called r, c and l.
  Joined Join(std::string_view reference, std::string_view candidate, std::string_view labels = "") {
    Joined out;
    const std::string r = files_.Write("r", reference), c = files_.Write("c", candidate);
    const std::string l = labels.empty() ? "" : files_.Write("l", labels);
    const auto digests = ForEachSample(r, c, l, [&](const Sample& s) {
      out.samples.push_back(StrCat(s.id, "@", s.index, ":", Value(s.reference), "/", Value(s.candidate), "/",
                                   Value(s.truth), s.tags.empty() ? "" : " ", plinth::Join(s.tags, "+")));
      return absl::OkStatus();
    });
    out.status = digests.status();
    if (digests.ok()) out.digests = *digests;
    return out;
  }
  // The message, without the folder.
  std::string Error(std::string_view reference, std::string_view candidate, std::string_view labels = "") {
    std::string message(Join(reference, candidate, labels).status.message());
    const std::string folder = files_.Path("");
    for (size_t at = message.find(folder); at != message.npos; at = message.find(folder))
      message.erase(at, folder.size());
    return message;
  }
  TestFiles files_;
};

constexpr char kTwo[] = "{\"id\":\"a\",\"v\":1}\n{\"id\":\"b\",\"v\":2}\n";

TEST_F(SamplesTest, JoinsInStep) {
  const Joined joined = Join(kTwo, "{\"id\":\"a\",\"v\":3}\r\n\r\n{\"id\":\"b\",\"v\":4}");
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_THAT(joined.samples, ElementsAre("a@0:1/3/1", "b@1:2/4/2"));
  EXPECT_EQ(joined.digests.reference, *Sha256Hex(kTwo));
  EXPECT_EQ(joined.digests.labels, "");
}

TEST_F(SamplesTest, JoinsOutOfStepWithTags) {
  const Joined joined =
      Join("{\"id\":\"a\",\"v\":1}\n{\"id\":2,\"v\":2}\n{\"id\":\"c\",\"v\":3,\"tag\":\"x\"}\n",
           "{\"id\":\"c\",\"v\":30}\n{\"id\":\"a\",\"v\":10}\n{\"id\":\"2\",\"v\":20}\n",
           "\xef\xbb\xbf{\"id\":\"2\",\"v\":0,\"tags\":[\"p\",\"q\"]}\n{\"id\":\"c\",\"v\":0}\n{\"id\":\"a\","
           "\"v\":0}\n");
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  // A sample comes with its last row; its index is the reference's. The integer 2 and the text are one id.
  EXPECT_THAT(joined.samples, testing::UnorderedElementsAre("a@0:1/10/0", "2@1:2/20/0 p+q", "c@2:3/30/0 x"));
  EXPECT_EQ(joined.digests.labels.size(), 64u);
}

TEST_F(SamplesTest, RefusesWhatDoesNotPair) {
  EXPECT_EQ(Error(kTwo, "{\"id\":\"a\"}\n"),
            "r: line 2: sample \"b\" is not in c; all files must hold the same ids (1 id is not in all)");
  EXPECT_EQ(Error("{\"id\":\"a\"}\n", kTwo),
            "c: line 2: sample \"b\" is not in r; all files must hold the same ids (1 id is not in all)");
  EXPECT_EQ(Error(kTwo, kTwo, "{\"id\":\"b\"}\n{\"id\":\"z\"}\n"),
            "r: line 1: sample \"a\" is not in l; all files must hold the same ids (2 ids are not in all)");
  EXPECT_EQ(Error("{\"id\":\"a\"}\n{\"id\":\"a\"}\n", kTwo),
            "r: line 2: sample \"a\" appears twice; each id may appear once in a file");
  // Also where the first pair is complete and forgotten.
  EXPECT_EQ(Error(kTwo, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}\n"),
            "c: line 3: sample \"a\" appears twice; each id may appear once in a file");
  EXPECT_EQ(Error("", ""), "r: holds no row; one JSON object per line is expected");
  EXPECT_EQ(Error(kTwo, "\n\n"), "c: holds no row; one JSON object per line is expected");
}

TEST_F(SamplesTest, RefusesBrokenRows) {
  EXPECT_EQ(Error("[1]\n", kTwo), "r: line 1: is a list of 1; an object with \"id\" is expected");
  const std::string wanted = "; text of 1 to 4096 bytes or an integer is expected";
  EXPECT_EQ(Error("{\"v\":1}\n", kTwo), "r: line 1: \"id\" is missing" + wanted);
  EXPECT_EQ(Error("{\"id\":1.5}\n", kTwo), "r: line 1: \"id\" is 1.5" + wanted);
  EXPECT_EQ(Error("{\"id\":\"\"}\n", kTwo), "r: line 1: \"id\" is \"\"" + wanted);
  EXPECT_THAT(Error("{\"id\":\"" + std::string(5000, 'x') + "\"}\n", kTwo), HasSubstr("4096 bytes"));
  EXPECT_THAT(Error(kTwo, "{\"id\":\"a\"}\n{\"id\":\"b\",\"v\":NaN}\n"), HasSubstr("c: line 2: not JSON"));
  EXPECT_THAT(Error(kTwo, "{\"id\":\"a\"}\n{\"id\":"), HasSubstr("c: line 2: not JSON"));
  EXPECT_EQ(Error("{\"id\":\"a\",\"tags\":5}\n", "{\"id\":\"a\"}\n"),
            "r: line 1: sample \"a\": \"tags\" is 5; text or a list of texts is expected");
  EXPECT_EQ(Error("{\"id\":\"a\",\"tags\":[5]}\n", "{\"id\":\"a\"}\n"),
            "r: line 1: sample \"a\": \"tags[0]\" is 5; text is expected");
}

TEST_F(SamplesTest, MissingFile) {
  const std::string r = files_.Write("r", kTwo);
  const auto result =
      ForEachSample(r, files_.Path("none"), "", [](const Sample&) { return absl::OkStatus(); });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
}

TEST(Row, GettersNameFileLineAndSample) {
  const auto value = formats::ParseJson(
      R"({"t":"x","n":2,"f":1.5,"b":true,"l":[1,null],"o":{"k":[1]},"z":null,"i":7})", "F");
  ASSERT_TRUE(value.ok());
  const std::string file = "F", id = "s";
  const Row row(&*value, &file, 3, &id);
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  const std::string start = "F: line 3: sample \"s\": ";
  EXPECT_EQ(*row.Text("t"), "x");
  EXPECT_EQ(message(row.Text("n")), start + "\"n\" is 2; text is expected");
  EXPECT_EQ(*row.Real("n"), 2);
  EXPECT_EQ(message(row.Real("t")), start + "\"t\" is \"x\"; a finite number is expected");
  EXPECT_EQ(message(row.Real("none")), start + "\"none\" is missing; a finite number is expected");
  EXPECT_EQ(*row.FlagOr("b", false), true);
  EXPECT_EQ(*row.FlagOr("z", true), true);
  EXPECT_EQ(message(row.FlagOr("i", false)), start + "\"i\" is 7; true or false is expected");
  EXPECT_TRUE(std::isnan((*row.Reals("l", true))[1]));
  EXPECT_EQ(message(row.Reals("l")), start + "\"l[1]\" is null; a finite number is expected");
  EXPECT_EQ(message(row.Reals("t")), start + "\"t\" is \"x\"; a list of numbers is expected");
  EXPECT_EQ(*row.Name("i"), "7");
  EXPECT_EQ(*row.Name("b"), "true");
  EXPECT_EQ(message(row.Name("f")),
            start + "\"f\" is 1.5; a class (text, an integer, true or false) is expected");
  EXPECT_EQ(row.Find("z"), nullptr);
  EXPECT_EQ(message(row.Inside(*row.Find("o"), "o").Text("k")),
            start + "\"o.k\" is a list of 1; text is expected");
}

}  // namespace
}  // namespace plinth::verify::metrics
