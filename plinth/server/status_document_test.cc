// The dashboard's endpoints as a client sees them, of a service with the shipped model.
#include "plinth/server/status_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>

#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/base/threads.h"
#include "plinth/formats/json.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using formats::JsonValue;
using http::Request;
using http::Response;
using testing::HasSubstr;

// Keeps the one answer, or a stream's producer.
class Caller : public http::Exchange {
 public:
  void Send(Response response) override { answer.set_value(std::move(response)); }
  void Stream(Response head, http::Producer with) override {
    producer = std::move(with);
    answer.set_value(std::move(head));
  }
  void Wake() override {}
  void Run(std::function<void()> then) override { then(); }
  bool gone() const override { return false; }
  void OnGone(std::function<void()>) override {}

  std::promise<Response> answer;
  http::Producer producer;
};

class DashboardTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::Make();
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<TemporaryFolder>(*std::move(folder));
    Start({});
  }
  void Start(const std::function<void(Settings*)>& change) {
    service_.reset();
    Service::Parts parts;
    parts.settings.allow_unproven = true;
    parts.settings.log_level = "off";
    parts.settings.state_folder = folder_->path();
    ModelSetting model;
    model.name = "shipped";
    model.path = JoinPath(std::getenv("PLINTH_SOURCE_DIR"), "models/plinth-ts-0");
    parts.settings.models.push_back(model);
    if (change) change(&parts.settings);
    parts.context.threads = &threads_;
    auto service = Service::Make(std::move(parts));
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    const Status loaded = service_->LoadModels();
    ASSERT_TRUE(loaded.ok()) << loaded;
  }
  Response Ask(const std::string& method, const std::string& target, const std::string& body = "",
               http::Fields fields = {{"content-type", "application/json"}},
               std::shared_ptr<Caller> caller = std::make_shared<Caller>()) {
    Request request;
    request.method = method;
    request.target = target;
    request.fields = std::move(fields);
    EXPECT_TRUE(http::SplitTarget(&request).ok());
    if (auto refusal = service_->Admit(&request, static_cast<int64_t>(body.size()))) return *refusal;
    request.body = body;
    auto answer = caller->answer.get_future();
    service_->Handle(std::move(request), caller);
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready) << target;
    return answer.get();
  }
  static JsonValue Read(const Response& response) {
    auto read = formats::ParseJson(response.body, "answer");
    EXPECT_TRUE(read.ok()) << read.status() << response.body;
    return *std::move(read);
  }
  static std::string Field(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.fields) {
      if (key == name) return value;
    }
    return "";
  }
  Response Forecast(const std::string& item, const std::string& values, int count) {
    return Ask("POST", "/v1/forecast",
               StrCat(R"({"horizon":3,"freq":"1h","series":{"y":[)", values, R"(],"sizes":[)", count,
                      R"(],"items":[")", item, R"("],"start":"2026-01-01T00:00:00Z"}})"));
  }

  Threads threads_{1};
  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<Service> service_;
};

TEST_F(DashboardTest, TheStatusHasWhatThePageNeeds) {
  ASSERT_EQ(Forecast("pump <b>1</b>", "1,2,3,4,5,6,7,8", 8).status, 200);
  ASSERT_EQ(Ask("POST", "/v1/forecast", "{").status, 400);
  service_->alarms().Raise({"detect", "point", "shipped", "pump", "y", AlarmPriority::kHigh, "high", 4});
  const Response response = Ask("GET", "/v1/status");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Field(response, "cache-control"), "no-store");
  const JsonValue status = Read(response);
  EXPECT_TRUE(*status.Find("ready")->flag());
  EXPECT_TRUE(*status.Find("unproven")->flag());
  const JsonValue& model = (*status.Find("models")->array())[0];
  EXPECT_EQ(*model.Find("name")->text(), "shipped");
  EXPECT_EQ(*model.Find("evidence")->Find("state")->text(), "unproven");
  EXPECT_THAT(*model.Find("evidence")->Find("command")->text(), HasSubstr("plinth accept"));
  EXPECT_GT(*model.Find("weight_bytes")->integer(), 1000);
  EXPECT_GT(*status.Find("memory")->Find("resident_bytes")->integer(), 1000);
  EXPECT_EQ(*status.Find("engine")->Find("requests")->integer(), 1);
  EXPECT_EQ(*status.Find("engine")->Find("queue")->integer(), 256);
  EXPECT_EQ(*status.Find("load")->Find("requests")->integer(), 2);
  EXPECT_EQ(*status.Find("load")->Find("wrong")->integer(), 1);
  EXPECT_EQ(*status.Find("alarms")->Find("unacknowledged")->integer(), 1);
  EXPECT_EQ(*(*status.Find("alarms")->Find("list")->array())[0].Find("item")->text(), "pump");
  const JsonValue& forecast = (*status.Find("forecasts")->array())[0];
  EXPECT_EQ(*forecast.Find("item")->text(), "pump <b>1</b>");
  EXPECT_EQ(*forecast.Find("frequency")->text(), "h");
}

TEST_F(DashboardTest, InferencesAreShownToo) {
  const auto infer = [&](const std::string& data) {
    return Ask("POST", "/v2/models/shipped/infer",
               StrCat(R"({"inputs": [{"name": "context", "datatype": "FP64", "shape": [2, 4], "data": )",
                      data, R"(}], "parameters": {"horizon": 3}})"));
  };
  ASSERT_EQ(infer("[1, 2, 3, 4, 8, 7, 6, 5]").status, 200);
  // The same rows of another request are the same series.
  ASSERT_EQ(infer("[2, 3, 4, 5, 7, 6, 5, 4]").status, 200);
  const JsonValue status = Read(Ask("GET", "/v1/status"));
  const JsonValue::Array& forecasts = *status.Find("forecasts")->array();
  ASSERT_EQ(forecasts.size(), 2u);
  EXPECT_EQ(*forecasts[0].Find("item")->text(), "shipped[1]");
  EXPECT_EQ(*forecasts[1].Find("item")->text(), "shipped[0]");
  EXPECT_EQ(*forecasts[1].Find("target")->text(), "context");
  EXPECT_EQ(*forecasts[1].Find("steps")->integer(), 3);
  const JsonValue series = Read(Ask("GET", StrCat("/v1/recent/", *forecasts[1].Find("id")->integer())));
  const JsonValue::Array& history = *series.Find("history")->array();
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(*history[3].integer(), 5);
}

TEST_F(DashboardTest, TheStatusIsCheap) {
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(Forecast(StrCat("item ", i), "1,2,3,4,5,6,7,8", 8).status, 200);
    service_->alarms().Raise({"detect", "point", "shipped", StrCat(i), "y", AlarmPriority::kLow, "low", 1});
  }
  const auto began = std::chrono::steady_clock::now();
  constexpr int kTimes = 20;
  size_t bytes = 0;
  for (int i = 0; i < kTimes; ++i) bytes = StatusDocument(*service_).size();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(bytes, 64u << 10);
  // One per second then takes less than 2 % of a thread, with a sanitizer and a loaded machine as well.
  EXPECT_LT(took.count() / kTimes, 0.02);
}

TEST_F(DashboardTest, ARecentForecastIsShownWithTheTruthThatCame) {
  ASSERT_EQ(Forecast("pump", "1,2,3,4,5,6,7,8", 8).status, 200);
  ASSERT_EQ(Forecast("pump", "1,2,3,4,5,6,7,8,9,10", 10).status, 200);
  const JsonValue series = Read(Ask("GET", "/v1/recent/1"));
  ASSERT_EQ(series.Find("forecasts")->array()->size(), 2u);
  const JsonValue& earlier = (*series.Find("forecasts")->array())[1];
  EXPECT_EQ(*(*earlier.Find("truth")->array())[1].integer(), 10);
  EXPECT_EQ(*earlier.Find("evidence")->text(), "unproven");
  EXPECT_EQ(Read(Ask("GET", "/v1/recent")).Find("forecasts")->array()->size(), 1u);
  for (const char* const id : {"2", "x", "1x", "-1", "99999999999999999999"})
    EXPECT_EQ(Ask("GET", StrCat("/v1/recent/", id)).status, 404) << id;
}

TEST_F(DashboardTest, AnAcknowledgementOutlastsTheService) {
  service_->alarms().Raise({"detect", "point", "shipped", "pump", "y", AlarmPriority::kHigh, "high", 4});
  const Response response = Ask("POST", "/v1/alarms/1/acknowledge", R"({"by":"Li","note":"seen"})");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_TRUE(*Read(response).Find("saved")->flag());
  Start({});
  const JsonValue list = Read(Ask("GET", "/v1/alarms"));
  EXPECT_EQ(*list.Find("unacknowledged")->integer(), 0);
  const JsonValue& alarm = (*list.Find("alarms")->array())[0];
  EXPECT_EQ(*alarm.Find("by")->text(), "Li");
  EXPECT_EQ(*alarm.Find("note")->text(), "seen");
}

TEST_F(DashboardTest, AWrongAcknowledgementSaysWhatIsWrong) {
  service_->alarms().Raise({"detect", "point", "shipped", "pump", "y", AlarmPriority::kHigh, "high", 4});
  struct Row {
    const char *target, *body;
    int status;
    const char* message;
  };
  constexpr Row kRows[] = {
      {"/v1/alarms/2/acknowledge", R"({"by":"Li"})", 404, "there is no alarm 2"},
      {"/v1/alarms/x/acknowledge", R"({"by":"Li"})", 404, "there is no alarm"},
      {"/v1/alarms/1/acknowledge", R"({})", 400, "by"},
      {"/v1/alarms/1/acknowledge", R"({"by":" "})", 400, "say who acknowledges"},
      {"/v1/alarms/1/acknowledge", R"({"by":1})", 400, "by"},
      {"/v1/alarms/1/acknowledge", R"({"by":"Li","who":"x"})", 400, "who"},
      {"/v1/alarms/1/acknowledge", "{", 400, ""},
  };
  for (const Row& row : kRows) {
    const Response response = Ask("POST", row.target, row.body);
    EXPECT_EQ(response.status, row.status) << row.target << " " << row.body << " " << response.body;
    EXPECT_THAT(response.body, HasSubstr(row.message));
  }
  // What a form of another page can send.
  EXPECT_EQ(
      Ask("POST", "/v1/alarms/1/acknowledge", R"({"by":"Li"})", {{"content-type", "text/plain"}}).status,
      415);
  EXPECT_EQ(Ask("POST", "/v1/alarms/1/acknowledge", R"({"by":"Li"})", {}).status, 415);
  EXPECT_EQ(service_->alarms().counts().unacknowledged, 1);
  EXPECT_EQ(Ask("POST", "/v1/alarms/1/acknowledge", R"({"by":"Li"})").status, 200);
  EXPECT_EQ(Ask("POST", "/v1/alarms/1/acknowledge", R"({"by":"Wang"})").status, 409);
}

TEST_F(DashboardTest, EventsTellOfAlarmsUntilTheServiceStops) {
  const auto reader = std::make_shared<Caller>();
  EXPECT_EQ(Ask("GET", "/v1/events", "", {}, reader).content_type, "text/event-stream");
  std::string text;
  EXPECT_EQ(reader->producer(&text), http::Produced::kPiece);
  service_->alarms().Raise(
      {"detect", "point", "shipped", "a\nevent: x", "y", AlarmPriority::kLow, "m\r\n", 4});
  text.clear();
  EXPECT_EQ(reader->producer(&text), http::Produced::kPiece);
  EXPECT_THAT(text, testing::StartsWith("event: alarm\ndata: {\"id\":1,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  service_->SetDraining();
  EXPECT_EQ(reader->producer(&text), http::Produced::kEnd);
  EXPECT_EQ(Ask("GET", "/v1/events").status, 503);
  reader->producer = nullptr;  // as a connection lets go of it
}

TEST_F(DashboardTest, ThePageIsGuardedAndCached) {
  const Response page = Ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(Field(page, "content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(Field(page, "content-security-policy"), testing::Not(HasSubstr("unsafe")));
  EXPECT_EQ(Field(page, "x-content-type-options"), "nosniff");
  EXPECT_EQ(Field(page, "plinth-evidence"), "unproven");
  const std::string tag = Field(page, "etag");
  const Response again = Ask("GET", "/", "", {{"if-none-match", StrCat("\"x\", ", tag)}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(Field(again, "etag"), tag);
  EXPECT_EQ(Ask("GET", "/", "", {{"if-none-match", "\"x\""}}).status, 200);
  EXPECT_EQ(Ask("GET", "/favicon.ico").content_type, "image/svg+xml");
  EXPECT_EQ(Ask("GET", "/assets/page.js").content_type, "text/javascript; charset=utf-8");
  for (const char* const target : {"/assets/no.js", "/assets/..%2Fpage.js", "/assets/%2e%2e", "/assets/"})
    EXPECT_EQ(Ask("GET", target).status, 404) << target;
}

TEST_F(DashboardTest, CanBeTurnedOff) {
  Start([](Settings* s) { s->dashboard = false; });
  EXPECT_EQ(Ask("GET", "/").status, 404);
  EXPECT_EQ(Ask("GET", "/assets/page.js").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/status").status, 200);
}

}  // namespace
}  // namespace plinth::server
