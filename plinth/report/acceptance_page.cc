#include "plinth/report/acceptance_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/base/text.h"
#include "plinth/report/assets.h"
#include "plinth/report/check_result.h"
#include "plinth/report/drift_picture.h"
#include "plinth/report/markup.h"
#include "plinth/report/sentences.h"

namespace plinth {
namespace {

using Answer = AcceptanceView::Answer;
using Verdict = AcceptanceView::Verdict;

// Longer tables are cut on the page; records.jsonl has everything.
constexpr size_t kMostRows = 400;

struct Words {
  const char* css_class;
  const char* sign;  // beside the colour, for those who do not see it
  Message name;
};

Words WordsOf(Answer answer) {
  switch (answer) {
    case Answer::kYes:
      return {"proven", "✓", Message::kAnswerYes};
    case Answer::kWarned:
      return {"unproven", "!", Message::kAnswerWarned};
    case Answer::kNo:
      return {"failed", "✗", Message::kAnswerNo};
    case Answer::kUnproven:
      break;
  }
  return {"open", "–", Message::kAnswerUnproven};
}

struct Conclusion {
  const char* css_class;
  Message name;
};

Conclusion ConclusionOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return {"proven", Message::kVerdictPass};
    case Verdict::kWarn:
      return {"unproven", Message::kVerdictWarn};
    case Verdict::kFail:
      break;
  }
  return {"failed", Message::kVerdictFail};
}

// A status or severity as a word of the language; anything else as it stands.
std::string WordOf(Message column, const std::string& cell, Language language) {
  if (column == Message::kColumnStatus) {
    for (int i = 0; i <= static_cast<int>(CheckStatus::kExtra); ++i) {
      if (cell != CheckStatusName(static_cast<CheckStatus>(i))) continue;
      return std::string(Text(language, static_cast<Message>(static_cast<int>(Message::kStatusPassed) + i)));
    }
  }
  if (column == Message::kColumnSeverity) {
    for (const Message word : {Message::kSeverityError, Message::kSeverityWarning, Message::kSeverityNote}) {
      if (cell == Text(Language::kEnglish, word)) return std::string(Text(language, word));
    }
  }
  return Said(language, cell);
}

class Page {
 public:
  Page(const AcceptanceView& view, Language language) : view_(view), language_(language) {}

  std::string Write() {
    Head();
    Top();
    out_ += "<main>\n";
    Questions();
    Drift();
    for (const AcceptanceView::Table& table : view_.tables) Table(table);
    List(Message::kKnownLimits, view_.limits);
    Reproduce();
    StrAppend(&out_, "</main>\n<footer>", Escaped(Text(language_, Message::kMadeBy, {view_.version})),
              "</footer>\n</body>\n</html>\n");
    return std::move(out_);
  }

 private:
  std::string Escaped(std::string_view text) const { return EscapeHtml(text); }
  std::string Say(Message message) const { return EscapeHtml(Text(language_, message)); }

  void Head() {
    StrAppend(&out_, "<!doctype html>\n<html lang=\"", LanguageTag(language_),
              "\">\n<head>\n<meta charset=\"utf-8\">\n",
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
              "'unsafe-inline'; "
              "base-uri 'none'; form-action 'none'\">\n",
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
              Escaped(Text(language_, Message::kAcceptanceOf, {view_.model})), "</title>\n<style>\n",
              PageStyle(), AcceptanceStyle(), "</style>\n</head>\n<body class=\"acceptance\">\n");
  }

  void Fact(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    StrAppend(&out_, "<div><dt>", Escaped(name), "</dt><dd dir=\"auto\">", Escaped(value), "</dd></div>\n");
  }

  void Top() {
    const Conclusion c = ConclusionOf(view_.verdict);
    StrAppend(&out_, "<header>\n<div class=\"top\"><div><h1>", Say(Message::kAcceptanceReport),
              "</h1><p id=\"summary\">", Escaped(view_.model), "</p></div><span class=\"badge ", c.css_class,
              "\"><span class=\"dot\"></span>", Say(c.name), "</span></div>\n<p class=\"conclusion ",
              c.css_class, "\">", Say(MeaningOf(view_)), "</p>\n");
    Why();
    StrAppend(&out_, "<dl class=\"facts\">\n");
    for (const auto& [name, value] : view_.facts) Fact(Text(language_, name), Said(language_, value));
    Fact(Text(language_, Message::kNumericsIdentity), view_.identity);
    Fact(Text(language_, Message::kSignedBy), view_.signer);
    Fact(Text(language_, Message::kVersion), StrCat("Plinth ", view_.version));
    Fact(Text(language_, Message::kCommit),
         view_.commit == "unknown" ? std::string(Text(language_, Message::kUnknown)) : view_.commit);
    Fact(Text(language_, Message::kCreated), view_.created);
    out_ += "</dl>\n";
    if (view_.self_attested) StrAppend(&out_, "<p class=\"means\">", Say(Message::kSelfAttested), "</p>\n");
    out_ += "</header>\n";
  }

  // One sentence for each question that failed, and for each earlier failure that stands.
  void Why() {
    std::string items;
    for (const AcceptanceView::Question& q : view_.questions) {
      if (!q.why.has_value()) continue;
      StrAppend(&items, "<li><strong>", Say(q.question), "</strong> <span dir=\"auto\">",
                Escaped(Text(language_, *q.why)), "</span></li>\n");
    }
    for (const Phrase& phrase : view_.standing) {
      StrAppend(&items, "<li dir=\"auto\">", Escaped(Text(language_, phrase)), "</li>\n");
    }
    if (items.empty()) return;
    StrAppend(&out_, "<div class=\"why\"><h2>", Say(Message::kWhyFailed), "</h2>\n<ul>\n", items,
              "</ul></div>\n");
  }

  void Questions() {
    StrAppend(&out_, "<section class=\"card\"><h2>", Say(Message::kSevenQuestions),
              "</h2>\n<ol class=\"questions\">\n");
    for (const AcceptanceView::Question& q : view_.questions) {
      const Words words = WordsOf(q.answer);
      StrAppend(&out_, "<li><span class=\"answer ", words.css_class, "\"><span aria-hidden=\"true\">",
                words.sign, "</span> ", Say(words.name), "</span><div><h3>", Say(q.question), "</h3>");
      for (const Phrase& reason : q.reasons) {
        StrAppend(&out_, "<p dir=\"auto\">", Escaped(Text(language_, reason)), "</p>");
      }
      out_ += "</div></li>\n";
    }
    out_ += "</ol></section>\n";
  }

  void Drift() {
    const std::string picture = DriftPicture(view_.drift, view_.drift_limit, view_.first_drift, language_);
    if (picture.empty()) return;
    StrAppend(&out_, "<section class=\"card\"><h2>", Say(Message::kDriftPicture), "</h2>\n", picture,
              "</section>\n");
  }

  void Table(const AcceptanceView::Table& table) {
    StrAppend(&out_, "<section class=\"card\"><h2>", Say(table.title),
              "</h2>\n<div class=\"scroll\"><table><thead><tr>");
    for (const Message column : table.columns) StrAppend(&out_, "<th scope=\"col\">", Say(column), "</th>");
    out_ += "</tr></thead>\n<tbody>\n";
    const size_t shown = std::min(table.rows.size(), kMostRows);
    for (size_t r = 0; r < shown; ++r) {
      const bool marked =
          std::find(table.marked.begin(), table.marked.end(), static_cast<int>(r)) != table.marked.end();
      out_ += marked ? "<tr class=\"marked\">" : "<tr>";
      for (size_t c = 0; c < table.rows[r].size(); ++c) {
        const char* tag = c == 0 ? "th scope=\"row\"" : "td";
        StrAppend(&out_, "<", tag, " dir=\"auto\">",
                  Escaped(WordOf(table.columns.at(c), table.rows[r][c], language_)),
                  c == 0 ? "</th>" : "</td>");
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
    if (shown < table.rows.size()) {
      StrAppend(&out_, "<p class=\"hint\">",
                Escaped(Text(language_, Message::kPosition, {StrCat(shown), StrCat(table.rows.size())})),
                " · records.jsonl</p>\n");
    }
    out_ += "</section>\n";
  }

  void List(Message title, const std::vector<Phrase>& phrases) {
    if (phrases.empty()) return;
    StrAppend(&out_, "<section class=\"card\"><h2>", Say(title), "</h2>\n<ul>\n");
    for (const Phrase& phrase : phrases)
      StrAppend(&out_, "<li>", Escaped(Text(language_, phrase)), "</li>\n");
    out_ += "</ul></section>\n";
  }

  void Reproduce() {
    if (view_.reproduce.empty()) return;
    StrAppend(&out_, "<section class=\"card\"><h2>", Say(Message::kHowToReproduce), "</h2>\n");
    for (const std::string& command : view_.reproduce)
      StrAppend(&out_, "<pre>", Escaped(command), "</pre>\n");
    out_ += "</section>\n";
  }

  const AcceptanceView& view_;
  const Language language_;
  std::string out_;
};

}  // namespace

Message MeaningOf(const AcceptanceView& view) {
  switch (view.verdict) {
    case Verdict::kPass:
      return std::any_of(view.limits.begin(), view.limits.end(),
                         [](const Phrase& limit) { return limit.message == Message::kLimitNoCases; })
                 ? Message::kConclusionUnanchored
                 : Message::kConclusionPass;
    case Verdict::kWarn:
      return Message::kConclusionWarn;
    case Verdict::kFail:
      break;
  }
  const bool itself = std::any_of(view.questions.begin(), view.questions.end(),
                                  [](const auto& q) { return q.answer == Answer::kNo; });
  return itself || view.standing.empty() ? Message::kConclusionFail : Message::kConclusionStanding;
}

std::string AcceptancePage(const AcceptanceView& view, Language language) {
  return Page(view, language).Write();
}

}  // namespace plinth
