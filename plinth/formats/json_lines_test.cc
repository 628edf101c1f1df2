#include "plinth/formats/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace plinth::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Lines {
  std::vector<std::string> texts;
  std::vector<int64_t> lines;
  Status status;
};

Lines Read(JsonLinesReader&& reader) {
  Lines out;
  while (true) {
    const StatusOr<bool> more = reader.Next();
    if (!more.ok()) out.status = more.status();
    if (!more.ok() || !*more) return out;
    out.texts.emplace_back(reader.text());
    out.lines.push_back(reader.line());
  }
}

TEST(JsonLines, SkipsMarkBlankLinesAndCarriageReturns) {
  const Lines lines =
      Read(JsonLinesReader::FromText("\xef\xbb\xbf{\"id\":1}\r\n\r\n  \t\n{\"id\":2}\n\n{\"id\":3}", "F"));
  EXPECT_TRUE(lines.status.ok()) << lines.status;
  EXPECT_THAT(lines.texts, ElementsAre("{\"id\":1}", "{\"id\":2}", "{\"id\":3}"));
  EXPECT_THAT(lines.lines, ElementsAre(1, 4, 6));
}

TEST(JsonLines, EmptyTextHasNoLine) {
  for (const char* text : {"", "\n", "\r\n \n", "\xef\xbb\xbf"}) {
    const Lines lines = Read(JsonLinesReader::FromText(text, "F"));
    EXPECT_TRUE(lines.status.ok());
    EXPECT_TRUE(lines.texts.empty());
  }
}

TEST(JsonLines, RefusesLongLinesAndUtf16) {
  const JsonLinesLimits limits{.line_bytes = 10};
  Lines lines = Read(JsonLinesReader::FromText("0123456789\n01234567890\n", "F", limits));
  EXPECT_EQ(lines.status.message(),
            "F: line 2: is longer than 10 bytes; one JSON object per line is expected");
  lines = Read(JsonLinesReader::FromText("01234567890", "F", limits));
  EXPECT_THAT(std::string(lines.status.message()), HasSubstr("F: line 1: is longer than 10 bytes"));
  lines = Read(JsonLinesReader::FromText("\xff\xfe{", "F"));
  EXPECT_EQ(lines.status.message(), "F: is UTF-16; UTF-8 is expected");
}

TEST(JsonLines, ReadsFilesInPieces) {
  const std::string path =
      (std::filesystem::temp_directory_path() / StrCat("plinth_json_lines_", getpid(), ".jsonl")).string();
  // Lines of every length around the buffer's size, so that each piece ends somewhere else in a line.
  std::string text;
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 40; ++i) lengths.push_back(i * i * 701 + 1);
  for (const size_t length : lengths) text += std::string(length, 'x') + "\n";
  ASSERT_TRUE(WriteFile(path, text).ok());
  auto reader = JsonLinesReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Lines lines = Read(std::move(*reader));
  EXPECT_EQ(*reader->Digest(), *Sha256OfFile(path));
  std::filesystem::remove(path);
  ASSERT_EQ(lines.texts.size(), lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(lines.texts[i].size(), lengths[i]);
  EXPECT_EQ(JsonLinesReader::Open(path).status().code(), absl::StatusCode::kNotFound);
}

TEST(JsonLines, ParseNamesTheLine) {
  const auto message = [](std::string_view text) {
    return std::string(JsonLinesReader::Parse(text, "F", 7).status().message());
  };
  EXPECT_EQ(message("{\"a\":}"), "F: line 7: not JSON; last read \"\"a\":}\"");
  EXPECT_THAT(message("{\"a\":NaN}"),
              HasSubstr("; JSON has no NaN and no Infinity: null is a missing number"));
  EXPECT_THAT(message("{\"a\":1e999}"), HasSubstr("F: line 7: a number is beyond the range of double"));
  EXPECT_THAT(message("{\"a\":1,\"a\":2}"), HasSubstr("F: line 7: the key \"a\" appears twice"));
}

}  // namespace
}  // namespace plinth::formats
