#include "plinth/server/alarms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/formats/json.h"

namespace plinth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

AlarmCause Cause(const std::string& item, AlarmPriority priority = AlarmPriority::kLow) {
  return {"detect", "point", "m", item, "y", priority, "it is high", 3.5};
}

class AlarmsTest : public testing::Test {
 protected:
  std::unique_ptr<Alarms> Open(Alarms::Options options) {
    auto alarms = Alarms::Open(std::move(options), clock_);
    EXPECT_TRUE(alarms.ok()) << alarms.status();
    return *std::move(alarms);
  }
  static std::vector<int64_t> Ids(const Alarms& alarms) {
    std::vector<int64_t> ids;
    for (const Alarm& alarm : alarms.List(100)) ids.push_back(alarm.id);
    return ids;
  }
  std::string Folder() {
    auto folder = TemporaryFolder::Make();
    EXPECT_TRUE(folder.ok()) << folder.status();
    folders_.push_back(std::make_unique<TemporaryFolder>(*std::move(folder)));
    return folders_.back()->path();
  }
  ManualClock clock_{1'764'547'200 * kSecond};  // 2025-12-01T00:00:00Z
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
};

TEST_F(AlarmsTest, AConditionThatLastsIsOneAlarm) {
  const auto alarms = Open({});
  EXPECT_EQ(alarms->Raise(Cause("a")), 1);
  clock_.Advance(60 * kSecond);
  EXPECT_EQ(alarms->Raise(Cause("a", AlarmPriority::kHigh)), 1);
  EXPECT_EQ(alarms->Raise(Cause("a")), 1);  // less urgent again: the highest counts
  EXPECT_EQ(alarms->Raise(Cause("b")), 2);
  const std::vector<Alarm> list = alarms->List(10);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].count, 3);
  EXPECT_EQ(list[0].last - list[0].raised, 60 * kSecond);
  EXPECT_EQ(list[0].cause.priority, AlarmPriority::kHigh);
  alarms->End("detect", "point", "m", "a", "y");
  alarms->End("detect", "point", "m", "nobody", "y");
  EXPECT_EQ(alarms->Raise(Cause("a")), 3);
}

TEST_F(AlarmsTest, IsAcknowledgedOnceByAPersonWithAName) {
  const auto alarms = Open({});
  alarms->Raise(Cause("a"));
  EXPECT_EQ(alarms->Acknowledge(1, " ", "").status().message(), "by: is empty; say who acknowledges");
  EXPECT_EQ(alarms->Acknowledge(2, "Li", "").status().message(), "there is no alarm 2");
  EXPECT_EQ(alarms->Acknowledge(0, "Li", "").status().code(), absl::StatusCode::kNotFound);
  const auto alarm = alarms->Acknowledge(1, "Li", "seen");
  ASSERT_TRUE(alarm.ok()) << alarm.status();
  EXPECT_EQ(alarm->by, "Li");
  EXPECT_EQ(alarm->note, "seen");
  EXPECT_EQ(alarm->acknowledged, clock_.Wall());
  EXPECT_TRUE(alarm->open()) << "its condition lasts";
  const auto again = alarms->Acknowledge(1, "Wang", "");
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("alarm 1 was acknowledged by Li at 2025-12-01T00:00:00"));
  alarms->End("detect", "point", "m", "a", "y");
  EXPECT_FALSE(alarms->List(1)[0].open());
}

TEST_F(AlarmsTest, ComesBackFromItsShelfByItself) {
  const std::string folder = Folder();
  auto alarms = Open({.most = 10, .folder = folder});
  alarms->Raise(Cause("a", AlarmPriority::kHigh));
  alarms->Raise(Cause("b"));
  EXPECT_EQ(alarms->Shelve(1, 60, " ", "x").status().message(), "by: is empty; say who shelves");
  EXPECT_EQ(alarms->Shelve(1, 60, "Li", " ").status().message(),
            "why: is empty; say why nobody needs to be called");
  EXPECT_EQ(alarms->Shelve(1, 0, "Li", "x").status().message(),
            "minutes: is 0; 1 to 10080 (seven days) are expected");
  EXPECT_EQ(alarms->Shelve(1, 10081, "Li", "x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(alarms->Shelve(7, 60, "Li", "x").status().message(), "there is no alarm 7");
  EXPECT_EQ(alarms->Unshelve(1).status().message(), "alarm 1 is not shelved");
  const auto alarm = alarms->Shelve(1, 60, "Li", "maintenance");
  ASSERT_TRUE(alarm.ok()) << alarm.status();
  EXPECT_EQ(alarm->shelved_until - alarm->shelved, 3600 * kSecond);
  EXPECT_THAT(Ids(*alarms), ElementsAre(2, 1));
  EXPECT_EQ(alarms->counts().unacknowledged, 1);
  EXPECT_EQ(alarms->counts().shelved, 1);
  // A condition that ends and comes again stays there, over a restart too.
  alarms->End("detect", "point", "m", "a", "y");
  ASSERT_TRUE(alarms->Save().ok());
  alarms = Open({.most = 10, .folder = folder});
  EXPECT_EQ(alarms->Raise(Cause("a")), 3);
  EXPECT_EQ(alarms->counts().shelved, 2);
  EXPECT_EQ(alarms->counts().unacknowledged, 1);
  EXPECT_EQ(alarms->List(3)[1].shelved_why, "maintenance");
  clock_.Advance(3599 * kSecond);
  EXPECT_EQ(alarms->counts().shelved, 2);
  clock_.Advance(kSecond);
  EXPECT_EQ(alarms->counts().shelved, 0);
  EXPECT_EQ(alarms->counts().unacknowledged, 3);
  EXPECT_EQ(alarms->List(3)[0].id, 1) << "it has the highest priority";
  EXPECT_EQ(alarms->List(3)[0].shelved_until, 0);
  EXPECT_EQ(alarms->Raise(Cause("a")), 3);
  ASSERT_TRUE(alarms->Shelve(3, 5, "Li", "again").ok());
  ASSERT_TRUE(alarms->Unshelve(3).ok());
  EXPECT_EQ(alarms->counts().shelved, 0);
}

TEST_F(AlarmsTest, WhatIsShelvedKeepsItsPlace) {
  const auto alarms = Open({.most = 2, .folder = {}});
  alarms->Raise(Cause("over"));
  ASSERT_TRUE(alarms->Acknowledge(1, "Li", "").ok());
  ASSERT_TRUE(alarms->Shelve(1, 60, "Li", "chatters").ok());
  alarms->End("detect", "point", "m", "over", "y");
  alarms->Raise(Cause("b"));
  ASSERT_TRUE(alarms->Acknowledge(2, "Li", "").ok());
  alarms->End("detect", "point", "m", "b", "y");
  alarms->Raise(Cause("c"));  // history that is not shelved goes
  EXPECT_THAT(Ids(*alarms), ElementsAre(3, 1));
}

TEST_F(AlarmsTest, ListsWhatIsUrgentFirst) {
  const auto alarms = Open({});
  alarms->Raise(Cause("low"));
  alarms->Raise(Cause("high", AlarmPriority::kHigh));
  alarms->Raise(Cause("taken", AlarmPriority::kHigh));
  alarms->Raise(Cause("over"));
  alarms->Raise(Cause("low too"));
  ASSERT_TRUE(alarms->Acknowledge(3, "Li", "").ok());
  ASSERT_TRUE(alarms->Acknowledge(4, "Li", "").ok());
  alarms->End("detect", "point", "m", "over", "y");
  EXPECT_THAT(Ids(*alarms), ElementsAre(2, 5, 1, 3, 4));
  const Alarms::Counts counts = alarms->counts();
  EXPECT_EQ(counts.unacknowledged, 3);
  EXPECT_EQ(counts.open, 4);
  EXPECT_EQ(counts.all, 5);
  EXPECT_EQ(alarms->List(2).size(), 2u);
}

TEST_F(AlarmsTest, MakesRoomWithWhatMattersLeast) {
  const auto alarms = Open({.most = 3, .folder = {}});
  alarms->Raise(Cause("high", AlarmPriority::kHigh));
  alarms->Raise(Cause("low"));
  alarms->Raise(Cause("over"));
  ASSERT_TRUE(alarms->Acknowledge(3, "Li", "").ok());
  alarms->End("detect", "point", "m", "over", "y");
  alarms->Raise(Cause("medium", AlarmPriority::kMedium));  // history goes
  EXPECT_THAT(Ids(*alarms), ElementsAre(1, 4, 2));
  EXPECT_EQ(alarms->counts().dropped, 0);
  alarms->Raise(Cause("another"));  // the oldest of least priority goes, and is counted
  EXPECT_THAT(Ids(*alarms), ElementsAre(1, 4, 5));
  EXPECT_EQ(alarms->counts().dropped, 1);
}

TEST_F(AlarmsTest, CutsTextsBetweenCharacters) {
  const auto alarms = Open({});
  AlarmCause cause = Cause("a");
  for (int i = 0; i < 300; ++i) cause.message += "泵";
  alarms->Raise(cause);
  const std::string message = alarms->List(1)[0].cause.message;
  EXPECT_LE(message.size(), kAlarmText);
  EXPECT_EQ((message.size() - std::string("it is high").size()) % 3, 0u);
}

TEST_F(AlarmsTest, OutlastARestart) {
  const std::string folder = JoinPath(Folder(), "state");
  {
    const auto alarms = Open({.most = 10, .folder = folder});
    alarms->Raise(Cause("泵 <b>\"1\"</b>", AlarmPriority::kMedium));
    alarms->Raise(Cause("b"));
    ASSERT_TRUE(alarms->Acknowledge(1, "李伟", "换了传感器").ok());
    ASSERT_TRUE(alarms->Save().ok());
  }
  const auto alarms = Open({.most = 10, .folder = folder});
  EXPECT_THAT(Ids(*alarms), ElementsAre(2, 1));
  const Alarm first = alarms->List(2)[1];
  EXPECT_EQ(first.cause.item, "泵 <b>\"1\"</b>");
  EXPECT_EQ(first.cause.priority, AlarmPriority::kMedium);
  EXPECT_EQ(first.cause.score, 3.5);
  EXPECT_EQ(first.by, "李伟");
  EXPECT_EQ(first.note, "换了传感器");
  EXPECT_EQ(first.acknowledged, clock_.Wall());
  EXPECT_EQ(alarms->Raise(Cause("c")), 3) << "numbers go on";
}

TEST_F(AlarmsTest, MovesAsideWhatItCannotRead) {
  const std::string folder = Folder(), path = JoinPath(folder, "alarms.json");
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"format":"other"})"),
        std::string(R"({"format":"plinth-alarms-1","next_id":1,"alarms":[{"id":-1}]})"),
        std::string(R"({"format":"plinth-alarms-1","next_id":5,"alarms":3})")}) {
    ASSERT_TRUE(WriteFile(path, text).ok());
    const auto alarms = Open({.most = 10, .folder = folder});
    const std::vector<Alarm> list = alarms->List(10);
    ASSERT_EQ(list.size(), 1u) << text;
    EXPECT_THAT(list[0].cause.message, HasSubstr("alarms.json.broken"));
    EXPECT_EQ(list[0].cause.source, "service");
    EXPECT_FALSE(FileExists(path));
    const auto kept = ReadFile(path + ".broken", 1000);
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(*kept, text);
  }
}

TEST_F(AlarmsTest, AFullDiskIsSaidAndCostsNoAlarm) {
  const std::string folder = Folder();
  const auto alarms = Open({.most = 10, .folder = folder});
  alarms->Raise(Cause("a"));
  ASSERT_TRUE(alarms->Save().ok());
  alarms->Raise(Cause("b"));
  // A folder in the place of the file stands for every disk that takes nothing.
  const std::string path = JoinPath(folder, "alarms.json");
  ASSERT_EQ(std::remove(path.c_str()), 0);
  ASSERT_TRUE(MakeFolders(path).ok());
  EXPECT_FALSE(alarms->Save().ok());
  EXPECT_THAT(alarms->counts().not_saved, HasSubstr("alarms.json"));
  EXPECT_EQ(alarms->List(10).size(), 2u);
  ASSERT_EQ(std::remove(path.c_str()), 0);
  EXPECT_TRUE(alarms->Save().ok());
  EXPECT_EQ(alarms->counts().not_saved, "");
  EXPECT_THAT(Ids(*Open({.most = 10, .folder = folder})), ElementsAre(2, 1));
}

TEST_F(AlarmsTest, TellsOfEachChange) {
  const auto alarms = Open({});
  std::vector<int64_t> told;
  alarms->OnChange([&](const Alarm& alarm) { told.push_back(alarm.id * 10 + (alarm.open() ? 1 : 0)); });
  alarms->Raise(Cause("a"));
  ASSERT_TRUE(alarms->Acknowledge(1, "Li", "").ok());
  alarms->End("detect", "point", "m", "a", "y");
  EXPECT_THAT(told, ElementsAre(11, 11, 10));
}

TEST_F(AlarmsTest, AreWrittenAsJson) {
  const auto alarms = Open({});
  alarms->Raise(Cause("a"));
  std::string text;
  formats::JsonWriter json(&text);
  WriteAlarm(alarms->List(1)[0], json);
  const auto read = formats::ParseJson(text, "alarm");
  ASSERT_TRUE(read.ok()) << text;
  EXPECT_EQ(*read->Find("raised")->text(), "2025-12-01T00:00:00.000Z");
  EXPECT_TRUE(read->Find("acknowledged")->is_null());
  EXPECT_EQ(*read->Find("priority")->text(), "low");
}

}  // namespace
}  // namespace plinth::server
