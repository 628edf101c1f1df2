#include "plinth/report/languages.h"

#include <array>
#include <cctype>

#include "plinth/base/check.h"
#include "plinth/report/acceptance_view.h"
#include "plinth/report/sentences.h"

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
    {Message::kAcceptanceReport, "acceptance_report", "Acceptance report", "验收报告"},
    {Message::kAcceptanceOf, "acceptance_of", "Acceptance: {0}", "验收：{0}"},
    {Message::kVerdictPass, "verdict_pass", "passed", "通过"},
    {Message::kVerdictWarn, "verdict_warn", "passed with warnings", "通过（有警告）"},
    {Message::kVerdictFail, "verdict_fail", "failed", "未通过"},
    {Message::kConclusionPass, "conclusion_pass",
     "This model computes here what it should. It may serve within the sizes below.",
     "该模型在此处的计算结果正确，可在下列规模范围内投入服务。"},
    {Message::kConclusionUnanchored, "conclusion_unanchored",
     "This model computes here what its weights say; whether they are the right ones, nothing outside Plinth "
     "vouches for. It may serve within the sizes below.",
     "该模型在此处的计算与其权重一致；权重本身是否正确，没有 Plinth "
     "以外的依据。可在下列规模范围内投入服务。"},
    {Message::kConclusionWarn, "conclusion_warn",
     "Nothing is proven wrong, but what is marked below needs a person's decision.",
     "没有发现错误，但下列标记项需要人工决定。"},
    {Message::kConclusionFail, "conclusion_fail",
     "This model must not serve here before what is marked below is mended.",
     "在下列标记项修复之前，该模型不得在此处投入服务。"},
    {Message::kAnswerYes, "answer_yes", "yes", "是"},
    {Message::kAnswerWarned, "answer_warned", "yes, with a warning", "是（有警告）"},
    {Message::kAnswerNo, "answer_no", "no", "否"},
    {Message::kAnswerUnproven, "answer_unproven", "unproven", "未证明"},
    {Message::kAskEnvironment, "ask_environment", "Is it known exactly what ran, and do all sources agree?",
     "是否确切知道运行环境，且各来源一致？"},
    {Message::kAskInputs, "ask_inputs", "Are inputs and preprocessing fixed and on record?",
     "输入与预处理是否固定并有记录？"},
    {Message::kAskOperators, "ask_operators", "Does every operator compute the right thing?",
     "每个算子的计算是否正确？"},
    {Message::kAskLayers, "ask_layers", "Do all layers agree with the reference?", "所有层是否与参考一致？"},
    {Message::kAskTask, "ask_task", "Is the quality of the task unchanged?", "任务质量是否保持不变？"},
    {Message::kAskPerformance, "ask_performance", "Is it fast enough?", "速度是否足够？"},
    {Message::kAskRepeatability, "ask_repeatability", "Does it give the same every time, at every size?",
     "每次、每种规模下结果是否相同？"},
    {Message::kEnvironmentKnown, "environment_known",
     "{0} facts on record, no contradiction among their sources", "已记录 {0} 项事实，来源之间无矛盾"},
    {Message::kEnvironmentFinding, "environment_finding", "{0}; {1}", "{0}（处理办法：{1}）"},
    {Message::kInputsFixed, "inputs_fixed", "{0} windows from {1}, horizon {2}, season {3}; digest {4}",
     "{0} 个窗口，取自 {1}，预测步长 {2}，季节长度 {3}；摘要值 {4}"},
    {Message::kInputsCaptures, "inputs_captures", "{0} captures with the same digest of inputs {1}",
     "{0} 份捕获的输入摘要值相同：{1}"},
    {Message::kInputsUnknown, "inputs_unknown", "the captures do not say on which inputs they were made",
     "捕获中没有记录所用的输入"},
    {Message::kSelfTestPassed, "self_test_passed", "the rule set noticed every planted fault",
     "规则集识别出了所有植入的错误"},
    {Message::kSelfTestFailed, "self_test_failed", "the rule set did not notice a planted fault: {0}",
     "规则集未识别出植入的错误：{0}"},
    {Message::kOperatorsPassed, "operators_passed",
     "{0} checks of {1} operators against an independent reference in double; the worst at {2} % of its "
     "limit",
     "{1} 个算子的 {0} 项检查与独立双精度参考一致；最差者为其限值的 {2}%"},
    {Message::kOperatorsFailed, "operators_failed", "{0} of {1} checks failed; the first: {2}",
     "{1} 项检查中有 {0} 项未通过；第一项：{2}"},
    {Message::kOperatorsReplayed, "operators_replayed",
     "{0} operators of this model replayed on their own inputs: {1} passed, {2} failed, {3} unproven",
     "用模型自身的输入重放了 {0} 个算子：{1} 个通过，{2} 个未通过，{3} 个未证明"},
    {Message::kCasesPassed, "cases_passed",
     "{0} outputs and layers of the original implementation reproduced", "重现了原始实现的 {0} 个输出与层"},
    {Message::kLayersAgree, "layers_agree",
     "{0} layers agree; the largest relative error is {1} at {2} (limit {3})",
     "{0} 个层一致；最大相对误差为 {1}，位于 {2}（限值 {3}）"},
    {Message::kLayersDrift, "layers_drift",
     "first drift at {0}: relative error {1}, of which {2} arises there (limit {3})",
     "首个漂移位于 {0}：相对误差 {1}，其中 {2} 产生于此处（限值 {3}）"},
    {Message::kLayersRepaired, "layers_repaired", "putting the reference back at {0} repairs what follows",
     "在 {0} 处换回参考值后，其后各层恢复正常"},
    {Message::kLayersNotRepaired, "layers_not_repaired",
     "putting the reference back at {0} does not repair what follows: there is another fault",
     "在 {0} 处换回参考值后，其后各层仍未恢复：另有错误"},
    {Message::kRulesCounted, "rules_counted",
     "rules over {0} tensors: {1} passed, {2} warned, {3} failed, {4} unproven",
     "对 {0} 个张量应用规则：{1} 个通过，{2} 个警告，{3} 个未通过，{4} 个未证明"},
    {Message::kRule2Unproven, "rule2_unproven",
     "rule 2 (hard cap) is unproven: it needs a capture in double as the truth",
     "规则 2（硬上限）未证明：需要双精度捕获作为真值"},
    {Message::kRule3Unproven, "rule3_unproven",
     "rule 3 (relative to the incumbent) is unproven: it needs the truth beside an incumbent",
     "规则 3（相对原平台）未证明：需要真值与原平台捕获"},
    {Message::kRule4Unproven, "rule4_unproven",
     "rule 4 (noise) is unproven: it needs repeats of the incumbent's run",
     "规则 4（噪声）未证明：需要原平台运行的多次重复"},
    {Message::kCapturesDrift, "captures_drift",
     "first drift at {0}: relative distance to the incumbent {1}; {2}",
     "首个漂移位于 {0}：与原平台的相对距离 {1}；{2}"},
    {Message::kTaskUnchanged, "task_unchanged", "{0}: {1}, the reference has {2}; inside the band of {3}",
     "{0}：{1}，参考为 {2}；在 {3} 的容许带内"},
    {Message::kTaskWorse, "task_worse", "{0}: {1}, the reference has {2}; worse beyond the band of {3}",
     "{0}：{1}，参考为 {2}；劣于 {3} 的容许带"},
    {Message::kTaskBetter, "task_better",
     "{0}: {1}, the reference has {2}; better beyond the band of {3}, which is suspicious",
     "{0}：{1}，参考为 {2}；优于 {3} 的容许带，值得怀疑"},
    {Message::kTaskUndecided, "task_undecided", "{0}: {1}", "{0}：尚不能判定，{1}"},
    {Message::kTaskNoData, "task_no_data", "no predictions were given for the task", "未提供任务的预测结果"},
    {Message::kSpeedMeasured, "speed_measured",
     "{0} series per second at batch {1} ({2} ms a call); weights and arenas take {3} MB",
     "批大小 {1} 时每秒 {0} 个序列（每次调用 {2} 毫秒）；权重与工作区占用 {3} MB"},
    {Message::kSpeedRatio, "speed_ratio", "{0} of the incumbent's speed; at least {1} is needed",
     "达到原平台速度的 {0}；要求至少 {1}"},
    {Message::kSpeedNoIncumbent, "speed_no_incumbent", "measured, but there is no incumbent to compare with",
     "已测量，但没有可比较的原平台数据"},
    {Message::kSpeedNotGiven, "speed_not_given", "no measurements were given", "未提供测量数据"},
    {Message::kSpeedRefused, "speed_refused", "not measured: correctness comes first", "未测量：正确性优先"},
    {Message::kRepeatsSame, "repeats_same",
     "{0} repeats over batches, orders, threads and fresh plans gave the same bits",
     "在不同批次、顺序、线程数与新建计划下重复 {0} 次，结果逐位相同"},
    {Message::kCapturesSame, "captures_same", "{0} captured repeats hold the same bits",
     "{0} 次捕获的重复运行逐位相同"},
    {Message::kRepeatsDiffer, "repeats_differ", "{0} of {1} repeats gave other bits; the first: {2}",
     "{1} 次重复中有 {0} 次结果逐位不同；第一次：{2}"},
    {Message::kRepeatsInBand, "repeats_in_band",
     "{0} repeats; the next run lies beyond their band with a chance of {1} %",
     "{0} 次重复；下一次运行超出其波动带的概率为 {1}%"},
    {Message::kCornersRun, "corners_run",
     "{0} corners of the sizes ran: batch up to {1}, context up to {2}, horizon up to {3}",
     "已运行规模范围的 {0} 个角点：批大小至 {1}，上下文至 {2}，预测步长至 {3}"},
    {Message::kCornerFailed, "corner_failed", "the corner batch {0}, context {1}, horizon {2} failed: {3}",
     "角点（批大小 {0}，上下文 {1}，预测步长 {2}）失败：{3}"},
    {Message::kLimitSizes, "limit_sizes",
     "holds for batches up to {0}, contexts up to {1} and horizons up to {2}",
     "适用于批大小至 {0}、上下文至 {1}、预测步长至 {2}"},
    {Message::kLimitInputs, "limit_inputs",
     "layers and task were judged on {0} windows; other data may behave otherwise",
     "层与任务在 {0} 个窗口上评判；其他数据可能表现不同"},
    {Message::kLimitMadeSeries, "limit_made_series",
     "no data file was given: the task was judged on made series",
     "未提供数据文件：任务在人工生成的序列上评判"},
    {Message::kLimitCaptured, "limit_captured",
     "holds for the inputs that were captured; nothing else was run", "仅适用于所捕获的输入；未运行其他输入"},
    {Message::kLimitNoCases, "limit_no_cases",
     "nothing outside Plinth anchors the weights: no golden cases of the original implementation were named, "
     "and "
     "layers and task were held against the same weights in double, which shows wrong arithmetic but not "
     "wrong "
     "weights",
     "权重没有 Plinth "
     "之外的依据：未提供原始实现的基准用例，层与任务是与同一权重的双精度计算相比，可发现计算错误，但不能发现"
     "权重错误"},
    {Message::kLimitRepeats, "limit_repeats", "{0} repeats; a signed acceptance of a migration asks for 59",
     "{0} 次重复；正式的迁移验收要求 59 次"},
    {Message::kLimitNoIncumbent, "limit_no_incumbent",
     "there was no incumbent: what is relative to one is unproven",
     "没有原平台数据：相对于原平台的规则均未证明"},
    {Message::kLimitSelfAttested, "limit_self_attested",
     "signed with a key of this machine only (self-attested)", "仅以本机密钥签名（自证）"},
    {Message::kLimitWaiver, "limit_waiver", "waived until {0} by {1}: {2}", "由 {1} 豁免至 {0}：{2}"},
    {Message::kTableOperators, "table_operators", "Operators", "算子"},
    {Message::kTableLayers, "table_layers", "Layers", "层"},
    {Message::kTableMetrics, "table_metrics", "Task metrics", "任务指标"},
    {Message::kTableSpeed, "table_speed", "Speed", "速度"},
    {Message::kTableFindings, "table_findings", "Findings about the environment", "环境检查结果"},
    {Message::kTableIdentity, "table_identity", "What was proven: the numerics identity",
     "所证明的对象：数值标识"},
    {Message::kColumnName, "column_name", "Name", "名称"},
    {Message::kColumnOperator, "column_operator", "Operator", "算子"},
    {Message::kColumnStatus, "column_status", "Status", "状态"},
    {Message::kColumnChecks, "column_checks", "Checks", "检查数"},
    {Message::kColumnFailed, "column_failed", "Failed", "未通过"},
    {Message::kColumnWorstShare, "column_worst_share", "Worst, % of its limit", "最差（占限值 %）"},
    {Message::kColumnFree, "column_free", "Relative error", "相对误差"},
    {Message::kColumnLocal, "column_local", "Arising there", "此处产生"},
    {Message::kColumnReference, "column_reference", "Reference", "参考"},
    {Message::kColumnCandidate, "column_candidate", "Candidate", "候选"},
    {Message::kColumnBand, "column_band", "Band", "容许带"},
    {Message::kColumnInterval, "column_interval", "95 % interval", "95% 区间"},
    {Message::kColumnBatch, "column_batch", "Batch", "批大小"},
    {Message::kColumnMilliseconds, "column_milliseconds", "ms a call (p50)", "每次调用毫秒 (p50)"},
    {Message::kColumnPerSecond, "column_per_second", "Series per second", "每秒序列数"},
    {Message::kColumnMemory, "column_memory", "Memory, MB", "内存 MB"},
    {Message::kColumnSeverity, "column_severity", "Severity", "严重程度"},
    {Message::kColumnResolve, "column_resolve", "What would resolve it", "如何解决"},
    {Message::kDriftPicture, "drift_picture", "Drift over depth", "漂移随深度的变化"},
    {Message::kDriftLimit, "drift_limit", "limit", "限值"},
    {Message::kKnownLimits, "known_limits", "Known limits", "已知局限"},
    {Message::kHowToReproduce, "how_to_reproduce", "How to reproduce and to check", "如何重现与核验"},
    {Message::kSignedBy, "signed_by", "Signed by key", "签名密钥"},
    {Message::kSelfAttested, "self_attested", "self-attested: the key is this machine's own",
     "自证：密钥属于本机"},
    {Message::kNumericsIdentity, "numerics_identity", "Numerics identity", "数值标识"},
    {Message::kMachine, "machine", "Machine", "机器"},
    {Message::kSevenQuestions, "seven_questions", "Seven questions", "七个问题"},
    {Message::kStandingFailure, "standing_failure",
     "the failure of {0} stands ({1}): this acceptance asks less than it ({2}); what asks the same again: "
     "{3}",
     "{0} 的未通过结论仍然有效（{1}）：本次验收所问少于当时（{2}）；重新提出相同问题的命令：{3}"},
    {Message::kStandingOpen, "standing_open",
     "the failure of {0} stands ({1}): this acceptance leaves it open; what asks the same again: {2}",
     "{0} 的未通过结论仍然有效（{1}）：本次验收未能就此给出结论；重新提出相同问题的命令：{2}"},
    {Message::kConclusionStanding, "conclusion_standing",
     "This run found nothing wrong, but an earlier failure of the same numerics identity stands: this model "
     "must not serve here.",
     "本次运行没有发现错误，但同一数值标识先前的未通过结论仍然有效：该模型不得在此处投入服务。"},
    {Message::kWhyFailed, "why_failed", "Why it failed", "未通过的原因"},
    {Message::kRecordFailed, "record_failed", "{0}: {1}", "{0}：{1}"},
    {Message::kPartsUnproven, "parts_unproven", "{0} of its parts stayed unproven, and with them the whole",
     "其中 {0} 个部分未证明，因此整体未证明"},
    {Message::kLimitResumed, "limit_resumed",
     "{0} pieces were taken from an earlier process of the same acceptance, which was interrupted; "
     "records.jsonl marks them as resumed",
     "有 {0} 个部分取自同一验收先前被中断的进程；在 records.jsonl 中标为 resumed"},
    {Message::kCommit, "commit", "Commit", "提交"},
    {Message::kUnknown, "unknown", "unknown", "未知"},
    {Message::kStatusPassed, "status_passed", "passed", "通过"},
    {Message::kStatusWarned, "status_warned", "warned", "警告"},
    {Message::kStatusFailed, "status_failed", "failed", "未通过"},
    {Message::kStatusUnimplemented, "status_unimplemented", "unimplemented", "未实现"},
    {Message::kStatusRefused, "status_refused", "refused", "已拒绝"},
    {Message::kStatusMistrusted, "status_mistrusted", "mistrusted", "不可信"},
    {Message::kStatusUnproven, "status_unproven", "unproven", "未证明"},
    {Message::kStatusMissing, "status_missing", "missing", "缺失"},
    {Message::kStatusExtra, "status_extra", "extra", "多余"},
    {Message::kSeverityError, "severity_error", "error", "错误"},
    {Message::kSeverityWarning, "severity_warning", "warning", "警告"},
    {Message::kSeverityNote, "severity_note", "note", "提示"},
    {Message::kMadeSeries, "made_series", "{0} made series, seed {1}", "{0} 个人工生成的序列，种子 {1}"},
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

namespace {

template <typename Arguments>
std::string Fill(std::string_view pattern, const Arguments& arguments) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 2] == '}') {
      const size_t index = static_cast<size_t>(pattern[i + 1] - '0');
      if (index < arguments.size()) {
        out += *(arguments.begin() + static_cast<std::ptrdiff_t>(index));
        i += 2;
        continue;
      }
    }
    out += pattern[i];
  }
  return out;
}

}  // namespace

std::string Text(Language language, Message message, std::initializer_list<std::string_view> arguments) {
  return Fill(Text(language, message), arguments);
}

std::string Text(Language language, Message message, const std::vector<std::string>& arguments) {
  return Fill(Text(language, message), arguments);
}

std::string Text(Language language, const Phrase& phrase) {
  std::vector<std::string> arguments;
  for (const std::string& argument : phrase.arguments) arguments.push_back(Said(language, argument));
  return Text(language, phrase.message, arguments);
}

}  // namespace plinth
