#include "plinth/report/languages.h"

#include <array>
#include <cctype>

#include "plinth/base/check.h"

namespace plinth {
namespace {

constexpr size_t kRows = static_cast<size_t>(Message::kCount);

constexpr std::array<MessageRow, kRows> kTable = {{
    {Message::kHistory, "history", "History", "历史"},
    {Message::kForecast, "forecast", "Forecast", "预测"},
    {Message::kMedian, "median", "Median", "中位数"},
    {Message::kMean, "mean", "Mean", "均值"},
    {Message::kActual, "actual", "Actual", "实际值"},
    {Message::kBand, "band", "{0} % band", "{0}% 区间"},
    {Message::kNow, "now", "now", "现在"},
    {Message::kGap, "gap", "gap", "缺失"},
    {Message::kNoData, "no_data", "no values to draw", "没有可绘制的数值"},
    {Message::kEarlierHidden, "earlier_hidden", "last {0} of {1} values shown",
     "显示 {1} 个值中的最后 {0} 个"},
    {Message::kForecastOf, "forecast_of", "Forecast: {0}", "预测：{0}"},
    {Message::kForecastReport, "forecast_report", "Forecast report", "预测报告"},
    {Message::kSummaryOne, "summary_one", "1 series", "1 个序列"},
    {Message::kSummaryMany, "summary_many", "{0} series", "{0} 个序列"},
    {Message::kModel, "model", "Model", "模型"},
    {Message::kModelDigest, "model_digest", "Model digest", "模型摘要值"},
    {Message::kDataFile, "data_file", "Data file", "数据文件"},
    {Message::kFrequency, "frequency", "Frequency", "频率"},
    {Message::kHorizon, "horizon", "Horizon", "预测步长"},
    {Message::kSteps, "steps", "{0} steps", "{0} 步"},
    {Message::kEvidence, "evidence", "Evidence", "证据"},
    {Message::kVersion, "version", "Version", "版本"},
    {Message::kCreated, "created", "Created", "生成时间"},
    {Message::kProven, "proven", "proven", "已证明"},
    {Message::kUnproven, "unproven", "unproven", "未证明"},
    {Message::kStale, "stale", "stale", "已过期"},
    {Message::kFailed, "failed", "failed", "未通过"},
    {Message::kProvenMeans, "proven_means",
     "Valid signed evidence covers exactly this model, device and precision.",
     "有效的签名证据恰好覆盖此模型、设备与精度。"},
    {Message::kUnprovenMeans, "unproven_means",
     "No acceptance has been run for this model, device and precision.",
     "尚未对此模型、设备与精度做过验收。"},
    {Message::kStaleMeans, "stale_means",
     "Evidence exists, but for another state of the model, the software or the machine.",
     "已有证据对应的是模型、软件或机器的另一状态。"},
    {Message::kFailedMeans, "failed_means",
     "The last acceptance found a deviation. Do not rely on these numbers.",
     "最近一次验收发现偏差。请勿依据这些数值做决定。"},
    {Message::kSeries, "series", "Series", "序列"},
    {Message::kSearch, "search", "Search {0} series", "搜索 {0} 个序列"},
    {Message::kNoMatch, "no_match", "No series matches.", "没有匹配的序列。"},
    {Message::kMatches, "matches", "{0} of {1}", "{0} / {1}"},
    {Message::kPrevious, "previous", "Previous series", "上一个序列"},
    {Message::kNext, "next", "Next series", "下一个序列"},
    {Message::kChartLabel, "chart_label", "Chart of {0}: {1} past values, {2} forecast steps",
     "{0} 的图表：{1} 个历史值，{2} 个预测步"},
    {Message::kChartKeys, "chart_keys",
     "Drag to zoom, double-click to reset. Keyboard: ← → read values, + − zoom, 0 reset.",
     "拖动可缩放，双击复位。键盘：← → 读数，+ − 缩放，0 复位。"},
    {Message::kResetZoom, "reset_zoom", "All", "全部"},
    {Message::kZoomForecast, "zoom_forecast", "Around now", "当前附近"},
    {Message::kNumbers, "numbers", "Numbers", "数值"},
    {Message::kShowNumbers, "show_numbers", "Show the numbers", "显示数值"},
    {Message::kTime, "time", "Time", "时间"},
    {Message::kRow, "row", "Row", "行"},
    {Message::kValue, "value", "Value", "值"},
    {Message::kDownloadCsv, "download_csv", "Download CSV", "下载 CSV"},
    {Message::kTrimmed, "trimmed", "The chart holds the last {0} of {1} past values.",
     "图表包含 {1} 个历史值中的最后 {0} 个。"},
    {Message::kMoreRows, "more_rows", "Show {0} more rows", "再显示 {0} 行"},
    {Message::kNeedsScript, "needs_script",
     "This page draws its charts with JavaScript, which is switched off here.",
     "本页用 JavaScript 绘制图表，而此处已将其关闭。"},
    {Message::kLicences, "licences", "Licences", "许可证"},
    {Message::kDygraphsNotice, "dygraphs_notice", "This page contains dygraphs under the MIT licence:",
     "本页包含 dygraphs，依 MIT 许可证使用（许可证原文为英文）："},
    {Message::kMadeBy, "made_by", "Made by Plinth {0}", "由 Plinth {0} 生成"},
    {Message::kPosition, "position", "{0} of {1}", "第 {0} 个，共 {1} 个"},
    {Message::kProgressOf, "progress_of", "{0} of {1}", "{0} / {1}"},
    {Message::kRemaining, "remaining", "{0} left", "剩余 {0}"},
}};

}  // namespace

StatusOr<Language> ParseLanguage(std::string_view name) {
  std::string head(name.substr(0, 2));
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool whole =
      name.size() == 2 || (name.size() > 2 && (name[2] == '-' || name[2] == '_' || name[2] == '.'));
  if (whole && head == "en") return Language::kEnglish;
  if (whole && head == "zh") return Language::kChinese;
  return absl::InvalidArgumentError(StrCat("language \"", name, "\" is not known; use en or zh"));
}

std::string_view LanguageTag(Language language) { return language == Language::kChinese ? "zh-CN" : "en"; }

const MessageRow& MessageAt(size_t index) {
  PLINTH_CHECK_LT(index, kRows);
  return kTable[index];
}

std::string_view Text(Language language, Message message) {
  const MessageRow& row = MessageAt(static_cast<size_t>(message));
  return language == Language::kChinese ? row.chinese : row.english;
}

std::string Text(Language language, Message message, std::initializer_list<std::string_view> arguments) {
  const std::string_view pattern = Text(language, message);
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 2] == '}') {
      const size_t index = static_cast<size_t>(pattern[i + 1] - '0');
      if (index < arguments.size()) {
        out += arguments.begin()[index];
        i += 2;
        continue;
      }
    }
    out += pattern[i];
  }
  return out;
}

}  // namespace plinth
