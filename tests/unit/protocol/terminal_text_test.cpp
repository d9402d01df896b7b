// Untrusted text for a terminal: control sequences are escaped, everything else is kept.
#include "app/protocol/terminal_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/model/text.h"

namespace app {
namespace {

TEST(TerminalText, PlainTextStays) {
  const std::string text = "median 1.5 µs, 10 °C · é 日本 😀\n\tnext";
  EXPECT_EQ(terminal_text(text), text);
}

TEST(TerminalText, LineEndsOfCsvStayAndLoneCarriageReturnsDoNot) {
  EXPECT_EQ(terminal_text("a,b\r\n1,2\r\n"), "a,b\r\n1,2\r\n");
  EXPECT_EQ(terminal_text("over\rwritten\r\n\r"), "over\\u000dwritten\r\n\\u000d");
  EXPECT_EQ(terminal_text("\r\r\n"), "\\u000d\r\n");
}

TEST(TerminalText, TerminalControlsAreEscaped) {
  EXPECT_EQ(terminal_text("\x1b[2J\x07\r\b\x7f"), "\\u001b[2J\\u0007\\u000d\\u0008\\u007f");
  EXPECT_EQ(terminal_text("\xc2\x9b"
                          "2J"),
            "\\u009b2J");  // C1's own escape
  EXPECT_EQ(terminal_text("a\xe2\x80\xae"
                          "b\xe2\x81\xa6"),
            "a\\u202eb\\u2066");  // direction
  EXPECT_EQ(terminal_text(std::string("\0", 1)), "\\u0000");
  EXPECT_EQ(terminal_text("\x9b"
                          "2J \xff \xe2\x80"),
            "\\x9b2J \\xff \\xe2\\x80");
}

TEST(TerminalText, NoControlByteGetsThrough) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      std::string_view safe;
      const std::string made = terminal_text(text);
      for (safe = made; !safe.empty();) {
        const std::size_t length = engine::utf8_sequence_length(safe);
        ASSERT_GT(length, 0U);
        const auto byte = static_cast<unsigned char>(safe.front());
        const bool line_end = safe.starts_with("\r\n");
        ASSERT_TRUE(length > 1 || (byte >= 0x20 && byte != 0x7F) || byte == '\n' || byte == '\t' ||
                    line_end);
        ASSERT_FALSE(length == 2 && byte == 0xC2 && static_cast<unsigned char>(safe[1]) < 0xA0);
        safe.remove_prefix(length);
      }
    }
  }
}

TEST(TerminalText, JsonStaysTheSameJson) {
  const nlohmann::json value = {{"text", "\x1b[2J \xc2\x9b \xe2\x80\xae \x7f \n"}};
  EXPECT_EQ(nlohmann::json::parse(terminal_text(value.dump())), value);
}

}  // namespace
}  // namespace app
