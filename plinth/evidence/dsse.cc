#include "plinth/evidence/dsse.h"

#include <algorithm>

#include "plinth/base/base64.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::evidence {
namespace {

using formats::JsonValue;

constexpr size_t kMaxSignatureBytes = 8192;
constexpr size_t kMaxKeyidBytes = 256;
constexpr size_t kMaxTypeBytes = 256;

Status Bad(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(where, ": is no DSSE envelope as Plinth writes it: ", what));
}

// An object with exactly these keys.
Status ExpectKeys(const JsonValue& value, std::initializer_list<std::string_view> keys,
                  std::string_view where, std::string_view place) {
  const JsonValue::Object* object = value.object();
  if (object == nullptr) {
    return Bad(where, StrCat(place, " is ", formats::ShortText(value), "; an object is expected"));
  }
  for (const auto& [name, member] : *object) {
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      return Bad(where, StrCat(place, " has the key ", formats::QuotedShort(name), "; its keys are exactly ",
                               Join(keys, ", ")));
    }
  }
  for (const std::string_view key : keys) {
    if (value.Find(key) == nullptr) return Bad(where, StrCat(place, " lacks the key \"", key, "\""));
  }
  return absl::OkStatus();
}

StatusOr<std::string> ShortTextMember(const JsonValue& object, std::string_view key, size_t limit,
                                      std::string_view where) {
  const std::string* text = object.Find(key)->text();
  if (text == nullptr || text->size() > limit) {
    return Bad(where, StrCat("\"", key, "\" is ", formats::ShortText(*object.Find(key)), "; text of at most ",
                             limit, " bytes is expected"));
  }
  return *text;
}

StatusOr<std::string> Base64Member(const JsonValue& object, std::string_view key, std::string_view where) {
  const std::string* text = object.Find(key)->text();
  std::optional<std::string> bytes;
  if (text != nullptr) bytes = FromBase64(*text);
  if (!bytes) {
    return Bad(where, StrCat("\"", key, "\" is ", formats::ShortText(*object.Find(key)),
                             "; base64 in its canonical form (RFC 4648, padded, no spaces) is expected"));
  }
  return *std::move(bytes);
}

std::string ShortKeyid(const std::string& keyid) {
  return keyid.empty() ? "no keyid" : StrCat("keyid ", formats::QuotedShort(keyid));
}

}  // namespace

std::string PreAuthEncoding(std::string_view payload_type, std::string_view payload) {
  return StrCat("DSSEv1 ", payload_type.size(), " ", payload_type, " ", payload.size(), " ", payload);
}

Status CountersignEnvelope(DsseEnvelope& envelope, const SigningKey& key) {
  PLINTH_ASSIGN_OR_RETURN(std::string sig,
                          key.Sign(PreAuthEncoding(envelope.payload_type, envelope.payload)));
  envelope.signatures.push_back({key.public_key().keyid(), std::move(sig)});
  return absl::OkStatus();
}

StatusOr<DsseEnvelope> SignEnvelope(std::string_view payload_type, std::string payload,
                                    const SigningKey& key) {
  DsseEnvelope envelope{std::string(payload_type), std::move(payload), {}};
  PLINTH_RETURN_IF_ERROR(CountersignEnvelope(envelope, key));
  return envelope;
}

std::string ToJson(const DsseEnvelope& envelope) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("payload"), w.String(Base64(envelope.payload));
  w.Key("payloadType"), w.String(envelope.payload_type);
  w.Key("signatures");
  w.BeginArray();
  for (const DsseSignature& signature : envelope.signatures) {
    w.BeginObject();
    w.Key("keyid"), w.String(signature.keyid);
    w.Key("sig"), w.String(Base64(signature.sig));
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
  return out;
}

StatusOr<DsseEnvelope> ParseEnvelope(std::string_view text, const std::string& where) {
  if (static_cast<int64_t>(text.size()) > kMaxEnvelopeBytes) {
    return Bad(where, StrCat("it has ", text.size(), " bytes; at most ", kMaxEnvelopeBytes, " are allowed"));
  }
  PLINTH_ASSIGN_OR_RETURN(const JsonValue root, formats::ParseJson(text, where));
  PLINTH_RETURN_IF_ERROR(ExpectKeys(root, {"payload", "payloadType", "signatures"}, where, "it"));
  DsseEnvelope envelope;
  PLINTH_ASSIGN_OR_RETURN(envelope.payload_type, ShortTextMember(root, "payloadType", kMaxTypeBytes, where));
  PLINTH_ASSIGN_OR_RETURN(envelope.payload, Base64Member(root, "payload", where));
  const JsonValue::Array* signatures = root.Find("signatures")->array();
  if (signatures == nullptr || signatures->empty() || signatures->size() > kMaxSignatures) {
    return Bad(where, StrCat("\"signatures\" is ", formats::ShortText(*root.Find("signatures")),
                             "; a list of 1 to ", kMaxSignatures, " is expected"));
  }
  for (const JsonValue& item : *signatures) {
    const std::string place = StrCat("signature ", envelope.signatures.size() + 1);
    PLINTH_RETURN_IF_ERROR(ExpectKeys(item, {"keyid", "sig"}, where, place));
    DsseSignature signature;
    PLINTH_ASSIGN_OR_RETURN(signature.keyid, ShortTextMember(item, "keyid", kMaxKeyidBytes, where));
    PLINTH_ASSIGN_OR_RETURN(signature.sig, Base64Member(item, "sig", where));
    if (signature.sig.empty() || signature.sig.size() > kMaxSignatureBytes) {
      return Bad(where, StrCat(place, " has ", signature.sig.size(), " bytes; 1 to ", kMaxSignatureBytes,
                               " are expected"));
    }
    envelope.signatures.push_back(std::move(signature));
  }
  return envelope;
}

EnvelopeVerdict VerifyEnvelope(const DsseEnvelope& envelope, const TrustedKeys& keys) {
  EnvelopeVerdict verdict;
  const auto fail = [&](EnvelopeFault fault, std::string sentence) {
    return EnvelopeVerdict{fault, std::move(sentence), {}};
  };
  const std::string message = PreAuthEncoding(envelope.payload_type, envelope.payload);
  for (const DsseSignature& signature : envelope.signatures) {
    const auto signer = std::find_if(
        keys.entries().begin(), keys.entries().end(),
        [&](const TrustedKeys::Entry& entry) { return entry.key.Verifies(message, signature.sig); });
    if (signer == keys.entries().end()) {
      if (keys.Find(signature.keyid) == nullptr) continue;
      return fail(EnvelopeFault::kBadSignature,
                  StrCat("the signature of ", ShortKeyid(signature.keyid),
                         " does not fit what is signed: one of them was altered"));
    }
    if (signature.keyid != signer->key.keyid()) {
      return fail(EnvelopeFault::kBadKeyid, StrCat("a signature names ", ShortKeyid(signature.keyid),
                                                   ", but the key that made it is ", signer->key.keyid()));
    }
    if (std::find(verdict.signers.begin(), verdict.signers.end(), &*signer) == verdict.signers.end()) {
      verdict.signers.push_back(&*signer);
    }
  }
  if (!verdict.signers.empty()) return verdict;
  const std::string named =
      Join(envelope.signatures, ", ", [](const DsseSignature& s) { return ShortKeyid(s.keyid); });
  return fail(
      EnvelopeFault::kUntrustedKey,
      StrCat("it is signed by ", named, ", and by no key that is trusted here (",
             keys.entries().empty()
                 ? std::string("there is none")
                 : Join(keys.entries(), ", ", [](const TrustedKeys::Entry& e) { return e.key.keyid(); }),
             "); give the signer's public key with --key (for a service: evidence.keys) if you trust it"));
}

}  // namespace plinth::evidence
