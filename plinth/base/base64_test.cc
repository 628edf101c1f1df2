#include "plinth/base/base64.h"

#include <gtest/gtest.h>

#include "plinth/base/digest.h"
#include "plinth/base/random.h"

namespace plinth {
namespace {

TEST(Base64Test, KnownTexts) {
  // RFC 4648, section 10.
  const std::pair<const char*, const char*> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) {
    EXPECT_EQ(Base64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
  EXPECT_EQ(Base64(std::string_view("\xfb\xff\x00", 3)), "+/8A");
  EXPECT_EQ(FromBase64("+/8A"), std::string("\xfb\xff\x00", 3));
}

TEST(Base64Test, OneSpellingOnly) {
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg==\n", " Zg==", "Zh==", "Zm9=", "Zm8", "Zm8=Zm8=", "Z===",
                          "====", "=", "-_8A", "Zm9v====", "Zm 9v", "Zm9v\r\n", "Z\xc3\xa9==", "Zg=a"}) {
    EXPECT_EQ(FromBase64(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(FromBase64(std::string_view("Zm9v\0\0\0\0", 8)), std::nullopt);
}

TEST(Base64Test, AnyBytesComeBackAndNoOtherTextGivesThem) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random.Below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    const std::string text = Base64(bytes);
    ASSERT_EQ(FromBase64(text), bytes);
    if (text.empty()) continue;
    std::string other = text;
    other[random.Below(text.size())] ^= static_cast<char>(1 + random.Below(255));
    EXPECT_NE(FromBase64(other), bytes);
  }
}

TEST(DigestTest, Sm3KnownAnswers) {
  // GB/T 32905-2016, annex A.
  EXPECT_EQ(*Sm3Hex("abc"), "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0");
  std::string text;
  for (int i = 0; i < 16; ++i) text += "abcd";
  EXPECT_EQ(*Sm3Hex(text), "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732");
  Sm3 pieces;
  for (const char c : text) pieces.Update(std::string_view(&c, 1));
  EXPECT_EQ(*pieces.Hex(), *Sm3Hex(text));
  EXPECT_FALSE(pieces.Hex().ok());  // once only
}

TEST(DigestTest, HexDigests) {
  const std::string hex = *Sha256Hex("");
  EXPECT_TRUE(IsHexDigest(hex));
  EXPECT_FALSE(IsHexDigest(hex.substr(1)));
  EXPECT_FALSE(IsHexDigest(hex + "0"));
  EXPECT_FALSE(IsHexDigest(StrCat("E", hex.substr(1))));
  EXPECT_FALSE(IsHexDigest(StrCat("g", hex.substr(1))));
}

}  // namespace
}  // namespace plinth
