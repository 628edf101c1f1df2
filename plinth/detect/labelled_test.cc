// Detection on labelled series that are not part of the project; without them it is skipped.
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/detect/detect.h"
#include "plinth/detect/ranges.h"
#include "plinth/engine/series_file.h"

namespace plinth::detect {
namespace {

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

struct Labelled {
  std::string file, begin, end;  // the labelled window, as the file writes times
};

// Each labelled window is found, and the fused score ranks its rows well above what a random score would
// (their share). Both files are of the half that parameters were chosen on.
TEST(Labelled, FindsWhatNabLabels) {
  const char* shared = std::getenv("PLINTH_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "PLINTH_SHARED does not name the folder with the NAB files";
  Threads threads(1);
  Context context;
  context.threads = &threads;
  auto session = engine::Session::Load(Source("models/plinth-ts-0"), context);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const Labelled& want :
       {Labelled{"artificialWithAnomaly/art_daily_jumpsup.csv", "2014-04-10 16:15:00", "2014-04-12 01:45:00"},
        Labelled{"realKnownCause/cpu_utilization_asg_misconfiguration.csv", "2014-07-10 12:29:00",
                 "2014-07-15 17:19:00"}}) {
    const std::string path = StrCat(shared, "/data/nab/", want.file);
    auto file = engine::SeriesFile::Open(path, {});
    ASSERT_TRUE(file.ok()) << file.status();
    engine::SeriesItem item;
    ASSERT_TRUE(*file->Next(&item));
    Series series;
    series.columns.emplace_back(item.values[0]);
    series.rows_per_day = 288;
    const auto found = Detect(**session, series, {.step = 16});
    ASSERT_TRUE(found.ok()) << found.status();
    std::vector<uint8_t> labels;
    double share = 0;
    for (int64_t row = 0; row < found->rows(); ++row) {
      const std::string time = item.TimeText(row);
      labels.push_back(time >= want.begin && time <= want.end ? 1 : 0);
      share += labels.back() / static_cast<double>(found->rows());
    }
    ASSERT_GT(share, 0) << want.file;
    const auto vus = VusPr(found->score, labels, 100);
    ASSERT_TRUE(vus.ok()) << vus.status();
    EXPECT_GT(*vus, 4 * share) << want.file;
    EXPECT_EQ(CountEvents(found->score, labels, found->threshold, found->window / 2).found, 1) << want.file;
  }
}

}  // namespace
}  // namespace plinth::detect
