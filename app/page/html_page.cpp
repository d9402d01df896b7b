#include "app/page/html_page.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include "app/page/base64.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--text); background: var(--page); }
p, ul, figcaption, dl { max-width: 60rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.6em 0 0.5em; }
table { border-collapse: collapse; margin: 0.8em 0; font-size: 13px; display: block; overflow-x: auto; }
th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid #8888; font-variant-numeric: tabular-nums; }
td { white-space: nowrap; }
th { vertical-align: bottom; }
th.w, td.w { text-align: left; white-space: normal; }
td.w { min-width: 5em; }
td.w:first-child { min-width: 11em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; font-size: 13px; }
dt { opacity: 0.7; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: 8px 12px; border: 1px solid #8888; border-radius: 4px; font-size: 13px; }
.warning { padding: 8px 12px; border: 2px solid var(--warn); border-radius: 4px; }
figure { margin: 1.4em 0; overflow-x: auto; }
figcaption { font-size: 13px; color: var(--dim); }
figure .title { font-size: 14px; font-weight: 600; color: var(--text); margin-bottom: 4px; }
img, svg { max-width: 100%; height: auto; }
svg { display: block; font: 11px system-ui, sans-serif; fill: var(--text); }
details { margin: 0.6em 0; }
summary { cursor: pointer; }
a { color: var(--accent); }
th[title] { text-decoration: underline dotted; cursor: help; }
</style>
)";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Custom properties with the window's colours, in the theme that the reader's browser prefers.
std::string theme_colors() {
  const auto both = [](const char* name, plot::Rgb light, plot::Rgb dark) {
    return fmt::format(" --{}: light-dark(#{:06x}, #{:06x});", name, light, dark);
  };
  const plot::ThemeColors& light = plot::kLightColors;
  const plot::ThemeColors& dark = plot::kDarkColors;
  return "<style>\n:root {" + both("page", light.panel, dark.window) +
         both("raised", light.raised, dark.raised) + both("line", light.line, dark.line) +
         both("text", light.text, dark.text) + both("dim", light.dim_text, dark.dim_text) +
         both("accent", light.accent, dark.accent) + both("good", light.good, dark.good) +
         both("warn", light.warn, dark.warn) + both("bad", light.bad, dark.bad) + " }\n</style>\n";
}

}  // namespace

std::vector<PrivateValue> private_names() {
  std::vector<PrivateValue> names;
  // A shorter one cannot be told from ordinary words.
  const auto add = [&names](const char* name) {
    const std::string value = name;
    if (value.size() < 3 || value == "root" || value == "localhost") return;
    names.push_back({.value = value, .shown = "…", .whole_word = true});
  };
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) add(host.data());
  if (const passwd* user = ::getpwuid(::getuid())) add(user->pw_name);
  return names;
}

HtmlPage::HtmlPage(std::string_view title, std::vector<PrivateValue> private_values)
    : private_values_(std::move(private_values)) {
  std::erase_if(private_values_, [](const PrivateValue& one) {
    return one.value.empty() || one.value == one.shown;
  });
  // A folder of one file may be the whole path of another.
  std::ranges::stable_sort(private_values_, std::ranges::greater{},
                           [](const PrivateValue& one) { return one.value.size(); });
  for (const PrivateValue& one : private_values_) {
    first_bytes_.set(static_cast<unsigned char>(one.value.front()));
  }
  title_ = text(title);
  heading(1, title);
}

std::string HtmlPage::public_text(std::string_view words) const {
  std::string out;
  for (std::size_t at = 0; at < words.size();) {
    if (!first_bytes_.test(static_cast<unsigned char>(words[at]))) {
      out += words[at++];
      continue;
    }
    const std::string_view rest = words.substr(at);
    const auto found = std::ranges::find_if(private_values_, [&](const PrivateValue& one) {
      if (!rest.starts_with(one.value)) return false;
      const bool begins = at == 0 || !is_word(words[at - 1]);
      const bool ends = rest.size() == one.value.size() || !is_word(rest[one.value.size()]);
      return !one.whole_word || (begins && ends);
    });
    if (found != private_values_.end()) {
      out += found->shown;
      at += found->value.size();
    } else {
      out += words[at++];
    }
  }
  return out;
}

std::string HtmlPage::text(std::string_view words) const { return escaped(public_text(words)); }

std::string HtmlPage::escaped(std::string_view words) {
  std::string escaped;
  for (const char c : engine::shown_text(words)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

void HtmlPage::append(std::string_view markup) {
  constexpr std::size_t kEnds = 4096;
  if (has_room(markup.size() + kEnds)) {
    body_ += markup;
  } else {
    ++left_out_;
  }
}

void HtmlPage::heading(int level, std::string_view words, std::string_view anchor) {
  const std::string id = anchor.empty() ? std::string() : fmt::format(" id=\"{}\"", text(anchor));
  append(fmt::format("<h{0}{1}>{2}</h{0}>\n", std::clamp(level, 1, 4), id, text(words)));
}

void HtmlPage::paragraph(std::string_view words) {
  if (!words.empty()) append("<p>" + text(words) + "</p>\n");
}

void HtmlPage::warning(std::string_view words) {
  if (!words.empty()) append("<p class=\"warning\">" + text(words) + "</p>\n");
}

void HtmlPage::code(std::string_view words) {
  if (!words.empty()) append("<pre><code>" + escaped(words) + "</code></pre>\n");
}

void HtmlPage::list(std::span<const std::string> items) {
  if (items.empty()) return;
  std::string list = "<ul>\n";
  for (const std::string& item : items) list += "<li>" + text(item) + "</li>\n";
  append(list + "</ul>\n");
}

void HtmlPage::contents(std::span<const Link> links) {
  if (links.empty()) return;
  std::string list = "<ul>\n";
  for (const Link& one : links) {
    list += fmt::format("<li>{}</li>\n", this->link(one.anchor, text(one.title)));
  }
  append(list + "</ul>\n");
}

std::string HtmlPage::link(std::string_view anchor, const std::string& escaped_words) const {
  return fmt::format("<a href=\"#{}\">{}</a>", text(anchor), escaped_words);
}

void HtmlPage::facts(const std::vector<Row>& facts) {
  if (facts.empty()) return;
  std::string list = "<dl>\n";
  for (std::size_t i = 0; i < facts.size(); ++i) {
    // One label for several facts, as a person would write them.
    const bool repeated = i > 0 && facts[i][0] == facts[i - 1][0];
    list += fmt::format("<dt>{}</dt><dd>{}</dd>\n", repeated ? std::string() : text(facts[i][0]),
                        text(facts[i][1]));
  }
  append(list + "</dl>\n");
}

void HtmlPage::table(const std::vector<PageColumn>& columns, const std::vector<Row>& rows,
                     std::span<const std::string> anchors) {
  if (rows.empty()) return;
  const auto cell_class = [&columns](std::size_t column) {
    return columns[column].words ? std::string_view(" class=\"w\"") : std::string_view();
  };
  std::string top = "<table>\n<tr>";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& meaning = columns[i].meaning;
    top += fmt::format("<th{}{}>{}</th>", cell_class(i),
                       meaning.empty() ? "" : fmt::format(" title=\"{}\"", text(meaning)),
                       text(columns[i].heading));
  }
  top += "</tr>\n";
  if (!has_room(top.size() + 8192)) return append(top);
  body_ += top;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string line = "<tr>";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::string words = text(rows[row][i]);
      if (i == 0 && row < anchors.size() && !anchors[row].empty())
        words = link(anchors[row], words);
      line += fmt::format("<td{}>{}</td>", cell_class(i), words);
    }
    append(line + "</tr>\n");
  }
  body_ += "</table>\n";
}

void HtmlPage::details(std::string_view summary, const std::function<void()>& content) {
  const std::string top = "<details><summary>" + text(summary) + "</summary>\n";
  if (!has_room(top.size() + 8192)) return append(top);
  body_ += top;
  content();
  body_ += "</details>\n";
}

void HtmlPage::picture(const SvgPicture& picture, std::string_view title, std::string_view note) {
  if (picture.empty()) return;
  append("<figure>" +
         (title.empty() ? std::string() : "<div class=\"title\">" + text(title) + "</div>\n") +
         picture.markup([this](std::string_view words) { return text(words); }) +
         (note.empty() ? std::string() : "<figcaption>" + text(note) + "</figcaption>") +
         "</figure>\n");
}

bool HtmlPage::picture(std::span<const std::byte> png, std::string_view caption) {
  if (!has_room(png.size() / 3 * 4 + caption.size() + 4096)) return false;
  body_ += "<figure><img alt=\"" + text(caption) + "\" src=\"data:image/png;base64," + base64(png) +
           "\"><figcaption>" + text(caption) + "</figcaption></figure>\n";
  return true;
}

std::string HtmlPage::finish() const {
  const std::string note =
      left_out_ == 0 ? std::string()
                     : fmt::format("<p>{} sections omitted (size limit)</p>\n", left_out_);
  return fmt::format("{}{}<title>{}</title>\n</head>\n<body>\n{}{}</body>\n</html>\n", kHead,
                     theme_colors(), title_, body_, note);
}

}  // namespace app
