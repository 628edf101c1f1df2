#include "plinth/verify/run_record.h"

#include <optional>

#include "plinth/base/text.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

std::string TextOf(const formats::JsonValue& object, std::string_view key) {
  const formats::JsonValue* value = object.object() == nullptr ? nullptr : object.Find(key);
  return value == nullptr || value->text() == nullptr ? "" : *value->text();
}

std::optional<double> NumberOf(const formats::JsonValue& object, std::string_view key) {
  const formats::JsonValue* value = object.object() == nullptr ? nullptr : object.Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->real() != nullptr) return *value->real();
  if (value->integer() != nullptr) return static_cast<double>(*value->integer());
  return std::nullopt;
}

}  // namespace

std::string QuietFallback(const formats::JsonValue& precision) {
  const std::string declared = TextOf(precision, "declared_device"), device = TextOf(precision, "device");
  if (declared.empty() || declared.starts_with("cpu")) return "";
  if (device.starts_with("cpu"))
    return StrCat("declared for ", declared, ", and its weights lay on ", device);
  const std::optional<double> share = NumberOf(precision, "device_time_share");
  if (!share.has_value() || *share >= kLeastDeviceShare) return "";
  return StrCat("only ", ShortNumber(100 * *share), " % of its time ran on ", declared, "; at least ",
                ShortNumber(100 * kLeastDeviceShare), " % is expected");
}

}  // namespace plinth::verify
