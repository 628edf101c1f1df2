#include "plinth/server/request_fields.h"

#include <set>

#include "plinth/base/text.h"
#include "plinth/server/service.h"

namespace plinth::server {

StatusOr<CommonFields> ReadCommon(const Service& service, const JsonField& root) {
  CommonFields common;
  std::string_view name;
  if (const auto field = root.Find("model")) {
    PLINTH_ASSIGN_OR_RETURN(name, field->Text());
  }
  PLINTH_ASSIGN_OR_RETURN(common.model, service.ModelFor(name));
  if (const auto field = root.Find("freq")) {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view frequency, field->Text());
    common.frequency = std::string(frequency);
  }
  if (const auto field = root.Find("priority")) {
    PLINTH_ASSIGN_OR_RETURN(const int64_t priority, field->Int(-100, 100));
    common.priority = static_cast<int>(priority);
  }
  if (const auto field = root.Find("timeout_seconds")) {
    PLINTH_ASSIGN_OR_RETURN(common.seconds, field->Number(0.001, 86400));
  }
  return common;
}

std::string SessionId(const http::Request& request, std::string_view session, std::string_view item) {
  std::string id = StrCat(request.key, "\n", session, "\n");
  id += item;
  return id;
}

StatusOr<std::string> ReadSessionName(const JsonField& session, const SeriesBody& body) {
  PLINTH_ASSIGN_OR_RETURN(const std::string_view name, session.Text());
  if (!IsModelName(name)) return session.Refuse("a name of letters, digits, '.', '_' and '-'");
  if (!body.covariates.empty()) {
    return FieldError("session", "keeps the history of targets alone; send covariates without a session");
  }
  std::set<std::string_view> items;
  for (const engine::SeriesItem& item : body.items) {
    if (!items.insert(item.item).second) {
      return FieldError("series.items", StrCat("is expected to name each item of a session; \"", item.item,
                                               "\" comes twice"));
    }
  }
  return std::string(name);
}

}  // namespace plinth::server
