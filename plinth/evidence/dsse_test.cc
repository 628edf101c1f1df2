#include "plinth/evidence/dsse.h"

#include "plinth/base/base64.h"
#include "plinth/base/random.h"
#include "plinth/evidence/unit_fixture.h"

namespace plinth::evidence {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DsseTest : public EvidenceTest {
 protected:
  DsseEnvelope Signed(std::string payload = "{\"a\":1}") {
    return *SignEnvelope(kInTotoPayloadType, payload, key_);
  }
};

void ExpectBroken(const std::string& text, const std::string& what) {
  const auto envelope = ParseEnvelope(text, "F");
  EXPECT_EQ(envelope.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_EQ(std::string(envelope.status().message()),
            StrCat("F: is no DSSE envelope as Plinth writes it: ", what));
}

TEST_F(DsseTest, PreAuthEncoding) {
  // The protocol's own example.
  EXPECT_EQ(PreAuthEncoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  EXPECT_EQ(PreAuthEncoding("", ""), "DSSEv1 0  0 ");
  EXPECT_EQ(PreAuthEncoding("\xc3\xa9", std::string("\0\n", 2)), std::string("DSSEv1 2 \xc3\xa9 2 \0\n", 16));
}

TEST_F(DsseTest, SignedReadAndVerified) {
  const DsseEnvelope signed_one = Signed();
  const std::string text = ToJson(signed_one);
  EXPECT_EQ(
      text,
      StrCat(R"({"payload":"eyJhIjoxfQ==","payloadType":"application/vnd.in-toto+json","signatures":[{)",
             R"("keyid":")", key_.public_key().keyid(), R"(","sig":")", Base64(signed_one.signatures[0].sig),
             R"("}]})"));
  const auto read = ParseEnvelope(text, "F");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->payload, "{\"a\":1}");
  const EnvelopeVerdict verdict = VerifyEnvelope(*read, keys_);
  EXPECT_EQ(verdict.fault, EnvelopeFault::kNone) << verdict.sentence;
  ASSERT_EQ(verdict.signers.size(), 1U);
  EXPECT_EQ(verdict.signers[0]->key.keyid(), key_.public_key().keyid());
  // Space between tokens means nothing to JSON, nor does the order of keys.
  EXPECT_TRUE(
      ParseEnvelope(" { \"signatures\" : [ {\"sig\":\"AA==\",\n\"keyid\":\"\"} ], \"payloadType\":\"\", "
                    "\"payload\":\"\"}\n",
                    "F")
          .ok());
}

TEST_F(DsseTest, OtherShapesAreRefused) {
  const std::string sig = R"("signatures":[{"keyid":"k","sig":"AA=="}])";
  const auto with = [&](const std::string& payload, const std::string& type, const std::string& rest) {
    return StrCat("{\"payload\":", payload, ",\"payloadType\":", type, ",", rest, "}");
  };
  const std::string base64 = "; base64 in its canonical form (RFC 4648, padded, no spaces) is expected";
  EXPECT_TRUE(ParseEnvelope(with("\"\"", "\"t\"", sig), "F").ok());
  ExpectBroken("[]", "it is a list of 0; an object is expected");
  ExpectBroken("{}", "it lacks the key \"payload\"");
  ExpectBroken(with("\"\"", "\"t\"", "\"x\":1"),
               "it has the key \"x\"; its keys are exactly payload, payloadType, signatures");
  ExpectBroken(with("\"YQ\"", "\"t\"", sig), StrCat("\"payload\" is \"YQ\"", base64));
  ExpectBroken(with("\"YR==\"", "\"t\"", sig), StrCat("\"payload\" is \"YR==\"", base64));
  ExpectBroken(with("\"-_8A\"", "\"t\"", sig), StrCat("\"payload\" is \"-_8A\"", base64));
  ExpectBroken(with("1", "\"t\"", sig), StrCat("\"payload\" is 1", base64));
  ExpectBroken(with("\"\"", "null", sig), "\"payloadType\" is null; text of at most 256 bytes is expected");
  ExpectBroken(with("\"\"", "\"t\"", "\"signatures\":[]"),
               "\"signatures\" is a list of 0; a list of 1 to 64 is expected");
  ExpectBroken(with("\"\"", "\"t\"", "\"signatures\":{}"),
               "\"signatures\" is an object of 0; a list of 1 to 64 is expected");
  ExpectBroken(with("\"\"", "\"t\"", "\"signatures\":[7]"), "signature 1 is 7; an object is expected");
  ExpectBroken(with("\"\"", "\"t\"", R"("signatures":[{"sig":"AA=="}])"),
               "signature 1 lacks the key \"keyid\"");
  ExpectBroken(with("\"\"", "\"t\"", R"("signatures":[{"keyid":"","sig":"AA==","cert":""}])"),
               "signature 1 has the key \"cert\"; its keys are exactly keyid, sig");
  ExpectBroken(with("\"\"", "\"t\"", R"("signatures":[{"keyid":"","sig":""}])"),
               "signature 1 has 0 bytes; 1 to 8192 are expected");
  const std::string long_keyid(257, 'k');
  ExpectBroken(
      with("\"\"", "\"t\"", StrCat(R"("signatures":[{"keyid":")", long_keyid, R"(","sig":"AA=="}])")),
      StrCat("\"keyid\" is \"", long_keyid.substr(0, 80), "...\"; text of at most 256 bytes is expected"));
  EXPECT_THAT(std::string(ParseEnvelope("{\"payload\":\"\",\"payload\":\"\"}", "F").status().message()),
              HasSubstr("the key \"payload\" appears twice"));
  EXPECT_THAT(std::string(ParseEnvelope("{", "F").status().message()), StartsWith("F: line 1: not JSON"));
}

TEST_F(DsseTest, TooManyAndTooLarge) {
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i > 0 ? "," : "") + std::string(R"({"keyid":"","sig":"AA=="})");
  ExpectBroken(StrCat(R"({"payload":"","payloadType":"","signatures":[)", many, "]}"),
               "\"signatures\" is a list of 65; a list of 1 to 64 is expected");
  ExpectBroken(std::string((64 << 20) + 1, ' '), "it has 67108865 bytes; at most 67108864 are allowed");
}

TEST_F(DsseTest, NoBitCanChange) {
  const std::string text = ToJson(Signed());
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      const auto envelope = ParseEnvelope(other, "F");
      if (!envelope.ok()) continue;
      const EnvelopeVerdict verdict = VerifyEnvelope(*envelope, keys_);
      EXPECT_NE(verdict.fault, EnvelopeFault::kNone) << "bit " << bit << " of byte " << at << ": " << other;
      EXPECT_TRUE(verdict.signers.empty());
    }
  }
}

TEST_F(DsseTest, TypeIsSignedToo) {
  DsseEnvelope envelope = Signed();
  envelope.payload_type = "application/json";
  EXPECT_EQ(VerifyEnvelope(envelope, keys_).fault, EnvelopeFault::kBadSignature);
}

TEST_F(DsseTest, SwappedKeys) {
  const SigningKey other = *SigningKey::Generate();
  // Signed anew by a stranger.
  DsseEnvelope envelope = *SignEnvelope(kInTotoPayloadType, "{}", other);
  EnvelopeVerdict verdict = VerifyEnvelope(envelope, keys_);
  EXPECT_EQ(verdict.fault, EnvelopeFault::kUntrustedKey);
  EXPECT_EQ(
      verdict.sentence,
      StrCat("it is signed by keyid \"", other.public_key().keyid(),
             "\", and by no key that is trusted here (", key_.public_key().keyid(),
             "); give the signer's public key with --key (for a service: evidence.keys) if you trust it"));
  EXPECT_THAT(VerifyEnvelope(envelope, {}).sentence, HasSubstr("trusted here (there is none)"));
  // The stranger claims to be the one who is trusted.
  envelope.signatures[0].keyid = key_.public_key().keyid();
  verdict = VerifyEnvelope(envelope, keys_);
  EXPECT_EQ(verdict.fault, EnvelopeFault::kBadSignature);
  EXPECT_EQ(verdict.sentence, StrCat("the signature of keyid \"", key_.public_key().keyid(),
                                     "\" does not fit what is signed: one of them was altered"));
  // A good signature under a wrong name; and under none.
  for (const std::string& keyid : {other.public_key().keyid(), std::string()}) {
    envelope = Signed();
    envelope.signatures[0].keyid = keyid;
    verdict = VerifyEnvelope(envelope, keys_);
    EXPECT_EQ(verdict.fault, EnvelopeFault::kBadKeyid);
    EXPECT_EQ(verdict.sentence,
              StrCat("a signature names ", keyid.empty() ? "no keyid" : StrCat("keyid \"", keyid, "\""),
                     ", but the key that made it is ", key_.public_key().keyid()));
  }
}

TEST_F(DsseTest, SeveralSignatures) {
  const SigningKey second = *SigningKey::Generate(), stranger = *SigningKey::Generate();
  DsseEnvelope envelope = *SignEnvelope(kInTotoPayloadType, "{}", stranger);
  ASSERT_TRUE(CountersignEnvelope(envelope, key_).ok());
  ASSERT_TRUE(CountersignEnvelope(envelope, second).ok());
  EnvelopeVerdict verdict = VerifyEnvelope(envelope, keys_);
  EXPECT_EQ(verdict.fault, EnvelopeFault::kNone);
  EXPECT_EQ(verdict.signers.size(), 1U);
  keys_.Add(second.public_key(), /*local=*/false);
  EXPECT_EQ(VerifyEnvelope(envelope, keys_).signers.size(), 2U);
  // The same key twice counts once.
  ASSERT_TRUE(CountersignEnvelope(envelope, key_).ok());
  EXPECT_EQ(VerifyEnvelope(envelope, keys_).signers.size(), 2U);
  // One that names a trusted key and is not its own spoils all.
  envelope.signatures[0].keyid = second.public_key().keyid();
  EXPECT_EQ(VerifyEnvelope(envelope, keys_).fault, EnvelopeFault::kBadSignature);
}

}  // namespace
}  // namespace plinth::evidence
