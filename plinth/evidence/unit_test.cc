#include "plinth/evidence/unit.h"

#include <gtest/gtest.h>

namespace plinth::evidence {
namespace {

StatusOr<RecordCounts> Count(std::string_view text, size_t piece = 7) {
  RecordCounter counter("F");
  for (size_t at = 0; at < text.size(); at += piece)
    PLINTH_RETURN_IF_ERROR(counter.Add(text.substr(at, piece)));
  return counter.Finish();
}

TEST(UnitTest, RecordsAreCounted) {
  const std::string text =
      "{\"status\":\"passed\"}\n{\"a\":1,\"status\":\"missing\"}\n{\"summary\":true}\n{\"status\":\"extra\","
      "\"summary\":"
      "false}\n{\"status\":\"unimplemented\"}\n";
  for (const size_t piece : {1, 7, 1000}) {
    const auto counts = Count(text, piece);
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ(counts->total, 4);
    EXPECT_EQ(counts->by_status, (std::array<int64_t, 9>{1, 0, 0, 1, 0, 0, 0, 1, 1}));
    EXPECT_EQ(counts->failures(), 2);
  }
  EXPECT_EQ(Count("")->total, 0);
}

TEST(UnitTest, BadRecordsNameTheirLine) {
  const auto message = [](std::string_view text) { return std::string(Count(text).status().message()); };
  EXPECT_EQ(message("{\"status\":\"passed\"}\n\n"), "F: line 2: line 1: not JSON; last read \"\"");
  EXPECT_EQ(message("[]\n"),
            "F: line 1: \"status\" is missing; one of passed, warned, failed, unimplemented, refused, "
            "mistrusted, unproven, missing, extra is expected");
  EXPECT_EQ(message("{\"status\":\"passed\"}"), "F: line 1 has no end: the file was cut");
  EXPECT_EQ(message(std::string((1 << 20) + 1, ' ')), "F: line 1 is longer than 1048576 bytes");
}

TEST(UnitTest, Times) {
  EXPECT_EQ(Rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(Rfc3339(1'796'063'400'125'999'999), "2026-11-30T18:30:00.125Z");
  EXPECT_EQ(*CompactTime("2026-11-30T18:30:00.125Z"), "20261130T183000.125Z");
  EXPECT_EQ(*CompactTime("2026-11-30T18:30:00Z"), "20261130T183000Z");
  for (const char* bad :
       {"", "2026-11-30", "2026-11-30T18:30:00", "2026-11-30T18:30:00+00:00", "2026-11-30t18:30:00Z",
        "2026-11-30 18:30:00Z", "2026-00-30T18:30:00Z", "2026-11-32T18:30:00Z", "2026-11-30T24:30:00Z",
        "2026-11-30T18:60:00Z", "2026-11-30T18:30:61Z", "2026-11-30T18:30:00.Z", "2026-11-30T18:30:00.1x",
        "2026-11-30T18:30:00.1234567890Z", "2026-11-30T18:30:00/..Z", "x026-11-30T18:30:00Z"}) {
    EXPECT_FALSE(CompactTime(bad).ok()) << bad;
  }
}

TEST(UnitTest, Verdicts) {
  auto checklist = Unit::EmptyChecklist();
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "warn");
  for (ChecklistItem& item : checklist) item.answer = Answer::kYes;
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "pass");
  // Without an incumbent there is nothing to be as fast as; everything else must be answered.
  checklist[5].answer = Answer::kUnproven;
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "pass");
  checklist[5].answer = Answer::kWarned;
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "warn");
  checklist[5].answer = Answer::kYes;
  checklist[4].answer = Answer::kUnproven;
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "warn");
  checklist[6].answer = Answer::kNo;
  EXPECT_EQ(VerdictName(VerdictOf(checklist)), "fail");
  for (const Answer answer : {Answer::kYes, Answer::kWarned, Answer::kNo, Answer::kUnproven}) {
    EXPECT_EQ(AnswerOf(AnswerName(answer)), answer);
  }
  EXPECT_FALSE(AnswerOf("perhaps").has_value());
  Unit unit;
  EXPECT_EQ(unit.Item("nosuch"), nullptr);
}

}  // namespace
}  // namespace plinth::evidence
