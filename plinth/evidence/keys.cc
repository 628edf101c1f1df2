#include "plinth/evidence/keys.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <climits>

#include "plinth/base/digest.h"

namespace plinth::evidence {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kPublicBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kPublicEnd = "-----END PUBLIC KEY-----";
constexpr char kExpected[] = "an Ed25519 public key in PEM (BEGIN PUBLIC KEY) is expected";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Status Refused(std::string_view what) {
  ERR_clear_error();
  return absl::UnavailableError(StrCat("the crypto library refuses to ", what, " an Ed25519 key"));
}

Bio ReadFrom(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

// Nobody is asked for a pass phrase.
int NoPassPhrase(char*, int, int, void*) { return -1; }

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

struct PublicKey::Native {
  explicit Native(EVP_PKEY* key) : key(key, &EVP_PKEY_free) {}
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key;
};

StatusOr<PublicKey> PublicKey::Make(std::shared_ptr<Native> native) {
  PublicKey key;
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(native->key.get(), &der);
  if (size <= 0) return Refused("encode");
  const auto digest =
      Sha256Hex(std::string_view(reinterpret_cast<const char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  PLINTH_ASSIGN_OR_RETURN(key.keyid_, digest);
  const Bio text(BIO_new(BIO_s_mem()), &BIO_free);
  if (text == nullptr || PEM_write_bio_PUBKEY(text.get(), native->key.get()) != 1) return Refused("encode");
  key.pem_ = Contents(text.get());
  key.native_ = std::move(native);
  return key;
}

StatusOr<std::vector<PublicKey>> PublicKey::ParsePem(std::string_view pem, const std::string& where) {
  std::vector<PublicKey> keys;
  std::string_view rest = pem;
  while (true) {
    while (!rest.empty() && IsSpace(rest.front())) rest.remove_prefix(1);
    if (rest.empty()) break;
    const size_t end = rest.find(kPublicEnd);
    if (!rest.starts_with(kPublicBegin) || end == rest.npos) {
      const bool secret =
          rest.starts_with(kBegin) && rest.substr(0, rest.find('\n')).find("PRIVATE") != rest.npos;
      return absl::InvalidArgumentError(StrCat(
          where, ": ", secret ? "holds a private key" : "holds something else beside or instead of keys",
          "; ", kExpected));
    }
    const std::string_view block = rest.substr(0, end + kPublicEnd.size());
    rest.remove_prefix(block.size());
    const Bio text = ReadFrom(block);
    EVP_PKEY* parsed =
        text == nullptr ? nullptr : PEM_read_bio_PUBKEY(text.get(), nullptr, &NoPassPhrase, nullptr);
    ERR_clear_error();
    if (parsed == nullptr) {
      return absl::InvalidArgumentError(
          StrCat(where, ": key ", keys.size() + 1, " cannot be read; ", kExpected));
    }
    auto native = std::make_shared<Native>(parsed);
    if (EVP_PKEY_get_id(parsed) != EVP_PKEY_ED25519) {
      const char* kind = EVP_PKEY_get0_type_name(parsed);
      return absl::InvalidArgumentError(
          StrCat(where, ": holds a key of kind ", kind == nullptr ? "unknown" : kind, "; ", kExpected));
    }
    PLINTH_ASSIGN_OR_RETURN(PublicKey key, Make(std::move(native)));
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return absl::InvalidArgumentError(StrCat(where, ": is empty; ", kExpected));
  return keys;
}

bool PublicKey::Verifies(std::string_view message, std::string_view signature) const {
  const Digest context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const bool good = context != nullptr &&
                    EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, native_->key.get()) == 1 &&
                    EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(message),
                                     message.size()) == 1;
  ERR_clear_error();
  return good;
}

StatusOr<SigningKey> SigningKey::Make(std::shared_ptr<PublicKey::Native> native) {
  SigningKey key;
  PLINTH_ASSIGN_OR_RETURN(key.public_, PublicKey::Make(native));
  key.native_ = std::move(native);
  return key;
}

StatusOr<SigningKey> SigningKey::Generate() {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (key == nullptr) return Refused("make");
  return Make(std::make_shared<PublicKey::Native>(key));
}

StatusOr<SigningKey> SigningKey::ParsePem(std::string_view pem, const std::string& where) {
  constexpr char kWanted[] =
      "an Ed25519 private key in PEM (BEGIN PRIVATE KEY), without pass phrase, is expected";
  const Bio text = ReadFrom(pem);
  EVP_PKEY* parsed =
      text == nullptr ? nullptr : PEM_read_bio_PrivateKey(text.get(), nullptr, &NoPassPhrase, nullptr);
  ERR_clear_error();
  if (parsed == nullptr)
    return absl::InvalidArgumentError(StrCat(where, ": holds no private key; ", kWanted));
  auto native = std::make_shared<PublicKey::Native>(parsed);
  if (EVP_PKEY_get_id(parsed) != EVP_PKEY_ED25519) {
    const char* kind = EVP_PKEY_get0_type_name(parsed);
    return absl::InvalidArgumentError(
        StrCat(where, ": holds a key of kind ", kind == nullptr ? "unknown" : kind, "; ", kWanted));
  }
  return Make(std::move(native));
}

StatusOr<std::string> SigningKey::Sign(std::string_view message) const {
  const Digest context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(64, '\0');
  size_t size = signature.size();
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, native_->key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, Bytes(message),
                     message.size()) != 1 ||
      size != signature.size()) {
    return Refused("sign with");
  }
  return signature;
}

StatusOr<std::string> SigningKey::Derive(std::string_view purpose) const {
  std::array<unsigned char, 32> seed;
  size_t seed_size = seed.size();
  unsigned int size = 0;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  const std::string message = StrCat("plinth derive: ", purpose);
  const bool good = EVP_PKEY_get_raw_private_key(native_->key.get(), seed.data(), &seed_size) == 1 &&
                    seed_size == seed.size() &&
                    HMAC(EVP_sha256(), seed.data(), static_cast<int>(seed.size()), Bytes(message),
                         message.size(), out.data(), &size) != nullptr &&
                    size == 32;
  OPENSSL_cleanse(seed.data(), seed.size());
  if (!good) return Refused("derive a secret from");
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

StatusOr<std::string> SigningKey::PrivatePem() const {
  const Bio text(BIO_new(BIO_s_secmem()), &BIO_free);
  if (text == nullptr || PEM_write_bio_PKCS8PrivateKey(text.get(), native_->key.get(), nullptr, nullptr, 0,
                                                       nullptr, nullptr) != 1) {
    return Refused("encode");
  }
  return Contents(text.get());
}

void TrustedKeys::Add(PublicKey key, bool local) {
  for (Entry& entry : entries_) {
    if (entry.key.keyid() != key.keyid()) continue;
    entry.local = entry.local && local;
    return;
  }
  entries_.push_back({std::move(key), local});
}

const TrustedKeys::Entry* TrustedKeys::Find(std::string_view keyid) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.key.keyid() == keyid; });
  return at == entries_.end() ? nullptr : &*at;
}

}  // namespace plinth::evidence
