// What the steps put into a report is said in its language.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "plinth/accept/inputs.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/standing.h"
#include "plinth/report/sentences.h"
#include "plinth/verify/rules.h"

namespace plinth::accept {
namespace {

// Whether the sentence was turned into one in Chinese: it holds characters beyond ASCII now.
void ExpectChinese(const std::string& sentence) {
  const std::string said = Said(Language::kChinese, sentence);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](char c) { return static_cast<signed char>(c) < 0; }))
      << "no Chinese for: " << sentence;
}

// Every finding of every recorded and made system, with what would resolve it.
TEST(Language, EnvironmentFindings) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  const std::string folder = StrCat(source == nullptr ? "." : source, "/cases/environments");
  const auto names = ListFolder(folder);
  ASSERT_TRUE(names.ok()) << names.status();
  Threads threads(2);
  size_t findings = 0;
  for (const std::string& name : *names) {
    if (!IsFolder(JoinPath(folder, name))) continue;
    evidence::EnvironmentOptions options;
    options.root = JoinPath(folder, name);
    options.threads = &threads;
    const auto environment = evidence::CollectEnvironment(options);
    ASSERT_TRUE(environment.ok()) << environment.status();
    for (const evidence::Finding& finding : environment->findings) {
      ++findings;
      ExpectChinese(finding.sentence);
      ExpectChinese(finding.resolve);
    }
  }
  EXPECT_GT(findings, 10u);
}

TEST(Language, WhatTheRulesSay) {
  verify::Difference d;
  d.count = d.finite_both = 100;
  d.rel_l2 = d.rmse = d.max_abs = 1;
  d.a.rms = 1;
  verify::Difference incumbent = d;
  incumbent.rmse = incumbent.max_abs = 1e-3;
  verify::TensorBand band;
  band.runs = 5;
  band.rel_l2 = band.max_abs = band.rmse = 1e-6;
  verify::TensorEvidence evidence;
  evidence.incumbent = evidence.truth = &d;
  evidence.incumbent_truth = &incumbent;
  evidence.truth_decides = true;
  evidence.band = &band;
  const verify::RuleSet rules = verify::RuleSet::Builtin().value();
  const auto judged = verify::Judge(rules, evidence);
  ASSERT_TRUE(judged.ok()) << judged.status();
  const verify::TensorVerdict& verdict = *judged;
  EXPECT_EQ(verdict.verdict, verify::Verdict::kFail);
  for (const verify::RuleResult& rule : verdict.rules) {
    if (!rule.detail.empty()) ExpectChinese(rule.detail);
  }
  ExpectChinese(verdict.reason);
}

TEST(Language, WhatALaterAcceptanceLacks) {
  using Covers = evidence::AskedItem::Covers;
  const auto lacking = evidence::Lacking({{"a", Covers::kSame, "x", 0}, {"b", Covers::kAtLeast, "", 2}},
                                         {{"b", Covers::kAtLeast, "", 1}});
  ASSERT_EQ(lacking.size(), 2u);
  for (const std::string& one : lacking) ExpectChinese(one);
  ExpectChinese(Join(lacking, "; "));
}

}  // namespace
}  // namespace plinth::accept
