// Holds every sentence that charts, progress and reports show, in English and Chinese, in one table.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth {

enum class Language { kEnglish, kChinese };

// "en" or "zh" (also "zh-CN", "zh_CN.UTF-8" and the like); others are refused with the known ones named.
StatusOr<Language> ParseLanguage(std::string_view name);

// "en" or "zh-CN": the value of the HTML attribute lang.
std::string_view LanguageTag(Language language);

// One entry per sentence; the table in languages.cc has the same order.
enum class Message {
  kHistory,
  kForecast,
  kMedian,
  kMean,
  kActual,
  kBand,
  kNow,
  kGap,
  kNoData,
  kEarlierHidden,
  kForecastOf,
  kForecastReport,
  kSummaryOne,
  kSummaryMany,
  kModel,
  kModelDigest,
  kDataFile,
  kFrequency,
  kHorizon,
  kSteps,
  kEvidence,
  kVersion,
  kCreated,
  kProven,
  kUnproven,
  kStale,
  kFailed,
  kProvenMeans,
  kUnprovenMeans,
  kStaleMeans,
  kFailedMeans,
  kSeries,
  kSearch,
  kNoMatch,
  kMatches,
  kPrevious,
  kNext,
  kChartLabel,
  kChartKeys,
  kResetZoom,
  kZoomForecast,
  kNumbers,
  kShowNumbers,
  kTime,
  kRow,
  kValue,
  kDownloadCsv,
  kTrimmed,
  kMoreRows,
  kNeedsScript,
  kLicences,
  kDygraphsNotice,
  kMadeBy,
  kPosition,
  kProgressOf,
  kRemaining,
  kAcceptanceReport,
  kAcceptanceOf,
  kVerdictPass,
  kVerdictWarn,
  kVerdictFail,
  kConclusionPass,
  kConclusionUnanchored,
  kConclusionWarn,
  kConclusionFail,
  kAnswerYes,
  kAnswerWarned,
  kAnswerNo,
  kAnswerUnproven,
  kAskEnvironment,
  kAskInputs,
  kAskOperators,
  kAskLayers,
  kAskTask,
  kAskPerformance,
  kAskRepeatability,
  kEnvironmentKnown,
  kEnvironmentFinding,
  kInputsFixed,
  kInputsCaptures,
  kInputsUnknown,
  kSelfTestPassed,
  kSelfTestFailed,
  kOperatorsPassed,
  kOperatorsFailed,
  kOperatorsReplayed,
  kCasesPassed,
  kLayersAgree,
  kLayersDrift,
  kLayersRepaired,
  kLayersNotRepaired,
  kRulesCounted,
  kRule2Unproven,
  kRule3Unproven,
  kRule4Unproven,
  kCapturesDrift,
  kTaskUnchanged,
  kTaskWorse,
  kTaskBetter,
  kTaskUndecided,
  kTaskNoData,
  kSpeedMeasured,
  kSpeedRatio,
  kSpeedNoIncumbent,
  kSpeedNotGiven,
  kSpeedRefused,
  kRepeatsSame,
  kCapturesSame,
  kRepeatsDiffer,
  kRepeatsInBand,
  kCornersRun,
  kCornerFailed,
  kLimitSizes,
  kLimitInputs,
  kLimitMadeSeries,
  kLimitCaptured,
  kLimitNoCases,
  kLimitRepeats,
  kLimitNoIncumbent,
  kLimitSelfAttested,
  kLimitWaiver,
  kTableOperators,
  kTableLayers,
  kTableMetrics,
  kTableSpeed,
  kTableFindings,
  kTableIdentity,
  kColumnName,
  kColumnOperator,
  kColumnStatus,
  kColumnChecks,
  kColumnFailed,
  kColumnWorstShare,
  kColumnFree,
  kColumnLocal,
  kColumnReference,
  kColumnCandidate,
  kColumnBand,
  kColumnInterval,
  kColumnBatch,
  kColumnMilliseconds,
  kColumnPerSecond,
  kColumnMemory,
  kColumnSeverity,
  kColumnResolve,
  kDriftPicture,
  kDriftLimit,
  kKnownLimits,
  kHowToReproduce,
  kSignedBy,
  kSelfAttested,
  kNumericsIdentity,
  kMachine,
  kSevenQuestions,
  kStandingFailure,
  kStandingOpen,
  kConclusionStanding,
  kWhyFailed,
  kRecordFailed,
  kPartsUnproven,
  kLimitResumed,
  kCommit,
  kUnknown,
  kStatusPassed,
  kStatusWarned,
  kStatusFailed,
  kStatusUnimplemented,
  kStatusRefused,
  kStatusMistrusted,
  kStatusUnproven,
  kStatusMissing,
  kStatusExtra,
  kSeverityError,
  kSeverityWarning,
  kSeverityNote,
  kMadeSeries,
  kCount,
};

// Those before it go into the script of a forecast's page; those from it on belong to acceptances.
inline constexpr size_t kPageMessages = static_cast<size_t>(Message::kAcceptanceReport);

struct MessageRow {
  Message id;
  std::string_view key;  // the name by which the page's script finds it
  std::string_view english;
  std::string_view chinese;
};

// Row of the table; `index` is below Message::kCount.
const MessageRow& MessageAt(size_t index);

// The sentence as it stands, with its placeholders {0}, {1}.
std::string_view Text(Language language, Message message);

// Replaces {0}, {1}, … by the arguments; a number without argument stays as it is.
std::string Text(Language language, Message message, std::initializer_list<std::string_view> arguments);
std::string Text(Language language, Message message, const std::vector<std::string>& arguments);

}  // namespace plinth
