#include "plinth/server/http/message.h"

#include <cstdint>

#include "plinth/base/text.h"
#include "plinth/base/utf8.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view Request::Field(std::string_view name) const {
  for (const auto& [known, value] : fields) {
    if (known == name) return value;
  }
  return {};
}

const std::string* Request::Query(std::string_view name) const {
  for (const auto& [known, value] : query) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return {};
  }
}

Response ErrorResponse(int status, std::string_view code, std::string_view message, std::string_view field) {
  Response response;
  response.status = status;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("error"), w.String(message);
  w.Key("code"), w.String(code);
  if (!field.empty()) w.Key("field"), w.String(field);
  w.EndObject();
  w.EndLine();
  return response;
}

StatusOr<std::string> DecodePercent(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(plus && text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError(
          StrCat("the address has a \"%\" that is not followed by two hexadecimal digits; write %25 for it"));
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (out.find('\0') != out.npos) return absl::InvalidArgumentError("the address holds a NUL");
  if (!IsUtf8(out)) return absl::InvalidArgumentError("the address is not UTF-8 once its escapes are undone");
  return out;
}

Status SplitTarget(Request* request) {
  const std::string_view target = request->target;
  if (target.empty() || target[0] != '/') {
    return absl::InvalidArgumentError("the address must begin with \"/\"");
  }
  const size_t mark = target.find('?');
  request->path = std::string(target.substr(0, mark));
  request->query.clear();
  if (mark == target.npos) return absl::OkStatus();
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    PLINTH_ASSIGN_OR_RETURN(std::string name, DecodePercent(pair.substr(0, equals), true));
    std::string value;
    if (equals != pair.npos) {
      PLINTH_ASSIGN_OR_RETURN(value, DecodePercent(pair.substr(equals + 1), true));
    }
    request->query.emplace_back(std::move(name), std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace plinth::server::http
