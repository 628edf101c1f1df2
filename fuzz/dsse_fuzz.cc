// Feeds envelopes and statements to their parsers; what is accepted must come back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plinth/base/base64.h"
#include "plinth/base/check.h"
#include "plinth/evidence/dsse.h"
#include "plinth/evidence/statement.h"

namespace {

using plinth::evidence::DsseEnvelope;

void CheckEnvelope(std::string_view text) {
  const auto envelope = plinth::evidence::ParseEnvelope(text, "F");
  if (!envelope.ok()) return;
  PLINTH_CHECK(!envelope->signatures.empty());
  const std::string written = ToJson(*envelope);
  const auto again = plinth::evidence::ParseEnvelope(written, "F");
  PLINTH_CHECK(again.ok());
  PLINTH_CHECK(again->payload == envelope->payload && ToJson(*again) == written);
  // Nobody is trusted, so nothing is.
  PLINTH_CHECK(VerifyEnvelope(*envelope, {}).fault == plinth::evidence::EnvelopeFault::kUntrustedKey);
  static_cast<void>(plinth::evidence::ParseStatement(envelope->payload, "F"));
}

void CheckStatement(std::string_view text) {
  const auto statement = plinth::evidence::ParseStatement(text, "F");
  if (!statement.ok()) return;
  const auto digest = statement->unit.identity.Digest();
  PLINTH_CHECK(digest.ok() && *digest == statement->identity);
  for (const auto& file : statement->files) PLINTH_CHECK(plinth::evidence::IsGoodFileName(file.digest.name));
  static_cast<void>(plinth::evidence::CheckTestResult(TestResultPayload(*statement), *statement, "F"));
}

void CheckBase64(std::string_view text) {
  const auto bytes = plinth::FromBase64(text);
  if (bytes) PLINTH_CHECK(plinth::Base64(*bytes) == text);
}

void CheckRecords(std::string_view text) {
  plinth::evidence::RecordCounter whole("F"), pieces("F");
  plinth::Status status = whole.Add(text);
  for (size_t at = 0; at < text.size(); at += 5) {
    if (const plinth::Status piece = pieces.Add(text.substr(at, 5)); !piece.ok()) {
      PLINTH_CHECK(piece == status);
      return;
    }
  }
  PLINTH_CHECK(status.ok());
  const auto a = whole.Finish(), b = pieces.Finish();
  PLINTH_CHECK(a.ok() == b.ok() && (!a.ok() || *a == *b));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckEnvelope(text);
  CheckStatement(text);
  CheckBase64(text);
  CheckRecords(text);
  // Any bytes as the payload of an envelope that is well formed.
  CheckEnvelope(ToJson(DsseEnvelope{"application/vnd.in-toto+json", std::string(text), {{"k", "s"}}}));
  return 0;
}
