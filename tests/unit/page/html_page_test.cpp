// Escaping, what is left out of a page that is passed on, and its size.
#include "app/page/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>

#include "tests/unit/page/count.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlPage, TextNeverBecomesMarkup) {
  const std::string hostile =
      "</title></code></table><script>alert('1')</script>\"'&\x1b[31m\xff\u202e";
  HtmlPage page(hostile, {});
  page.heading(2, hostile);
  page.paragraph(hostile);
  page.code(hostile);
  page.list(std::array{hostile});
  page.table({{.heading = hostile, .meaning = hostile}}, {{hostile}}, std::vector{hostile});
  page.details(hostile, [&] { page.paragraph(hostile); });
  EXPECT_TRUE(page.picture({}, hostile));
  const std::string html = page.finish();
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, Not(HasSubstr("\u202e")));
  EXPECT_EQ(count(html, "</title>"), 1U);
  EXPECT_EQ(count(html, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&#39;&amp;"), 14U);
}

TEST(HtmlPage, ThePolicyAllowsNothingFromElsewhere) {
  const std::string html = HtmlPage("t", {}).finish();
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
}

TEST(HtmlPage, PrivateValuesAreReplacedInSentencesWhateverTheyLookLike) {
  const HtmlPage page("t", {{.value = "/home/a b/secret plans/c d.npy", .shown = "…/c d.npy"},
                            {.value = R"(C:\Users\jo\x.npy)", .shown = "…/x.npy"},
                            {.value = "plans/y.npy", .shown = "…/y.npy"},
                            {.value = "jo@box:/data/plans/y.npy", .shown = "…/y.npy"}});
  EXPECT_EQ(page.text("X of /home/a b/secret plans/c d.npy, then C:\\Users\\jo\\x.npy"),
            "X of …/c d.npy, then …/x.npy");
  EXPECT_EQ(page.text("plans/y.npy and jo@box:/data/plans/y.npy"), "…/y.npy and …/y.npy");
  EXPECT_EQ(page.text("3.4 TFLOP/s, and/or 1/2, /usr/lib/other"),
            "3.4 TFLOP/s, and/or 1/2, /usr/lib/other")
      << "nothing is guessed";
}

TEST(HtmlPage, CodeIsAsItWasGiven) {
  HtmlPage page("t", {{.value = "//", .shown = "…"}, {.value = "a/b", .shown = "…/b"}});
  page.code("int a/b = 1; // a comment\n#include <x/y.h>");
  EXPECT_THAT(page.finish(), HasSubstr("<code>int a/b = 1; // a comment\n#include &lt;x/y.h&gt;<"));
}

TEST(HtmlPage, NamesOfMachineAndUserAreWholeWords) {
  const HtmlPage page("t", {{.value = "box", .shown = "…", .whole_word = true}});
  EXPECT_EQ(page.text("box, a run-box.session, boxes, jo@box"), "…, a run-….session, boxes, jo@…");
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const std::string name = host.data();
  if (name.size() < 3 || name == "localhost") GTEST_SKIP() << "this machine has no name of its own";
  EXPECT_EQ(HtmlPage("t", private_names()).text("on " + name), "on …");
}

TEST(HtmlPage, WhatDoesNotFitIsLeftOutAndSaid) {
  HtmlPage page("t", {});
  const std::vector<std::byte> picture(2'000'000);
  EXPECT_TRUE(page.picture(picture, "first"));
  EXPECT_FALSE(page.picture(picture, "second"));
  const HtmlPage::Row row(8, std::string(500, 'x'));
  page.table(std::vector<HtmlPage::PageColumn>(8), std::vector<HtmlPage::Row>(2000, row));
  for (int i = 0; i < 1000; ++i) page.paragraph(std::string(5000, 'y'));
  const std::string html = page.finish();
  EXPECT_LE(html.size(), kMaxPageBytes);
  EXPECT_THAT(html, HasSubstr("sections omitted (size limit)"));
}

TEST(HtmlPage, PicturesAreBase64) {
  HtmlPage page("t", {});
  const std::array bytes{std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  page.picture(bytes, "c");
  EXPECT_THAT(page.finish(), HasSubstr("data:image/png;base64,iVBORw==\""));
}

}  // namespace
}  // namespace app
