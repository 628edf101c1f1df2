// Signs, reads and verifies DSSE envelopes (Dead Simple Signing Envelope 1.0.2), strictly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/evidence/keys.h"

namespace plinth::evidence {

inline constexpr std::string_view kInTotoPayloadType = "application/vnd.in-toto+json";
// An envelope beyond this many bytes is refused before it is read.
inline constexpr int64_t kMaxEnvelopeBytes = 64 << 20;
inline constexpr size_t kMaxSignatures = 64;

struct DsseSignature {
  std::string keyid;  // a hint, never trusted
  std::string sig;    // bytes
};

struct DsseEnvelope {
  std::string payload_type;
  std::string payload;  // bytes
  std::vector<DsseSignature> signatures;
};

// What is signed: "DSSEv1 LEN(type) type LEN(payload) payload".
std::string PreAuthEncoding(std::string_view payload_type, std::string_view payload);

// An envelope with one signature, keyid set. Errors: as SigningKey::Sign.
StatusOr<DsseEnvelope> SignEnvelope(std::string_view payload_type, std::string payload,
                                    const SigningKey& key);
// Adds a further signature over the same payload.
Status CountersignEnvelope(DsseEnvelope& envelope, const SigningKey& key);

// Compact JSON without a line's end.
std::string ToJson(const DsseEnvelope& envelope);

// Reads an envelope. Narrower than the standard on purpose, so that no byte can change without being noticed:
// exactly the keys payload, payloadType, signatures and keyid, sig; each once, each text; the standard base64
// alphabet in its canonical form; 1 to kMaxSignatures signatures of 1 to 8192 bytes, keyid up to 256. `where`
// (the file) begins every message. Errors: InvalidArgument.
StatusOr<DsseEnvelope> ParseEnvelope(std::string_view text, const std::string& where);

// Why an envelope was not accepted.
enum class EnvelopeFault : uint8_t { kNone, kUntrustedKey, kBadSignature, kBadKeyid };

struct EnvelopeVerdict {
  EnvelopeFault fault = EnvelopeFault::kNone;
  std::string sentence;                            // without the file; empty where it is accepted
  std::vector<const TrustedKeys::Entry*> signers;  // distinct keys whose signatures are good
};

// Accepts an envelope that at least one trusted key has signed (threshold 1). Every trusted key is tried on
// every signature, whatever keyid says. A signature that a trusted key made must name it, and one that names
// a trusted key must be its own; signatures by other keys are passed over.
EnvelopeVerdict VerifyEnvelope(const DsseEnvelope& envelope, const TrustedKeys& keys);

}  // namespace plinth::evidence
