// Recursive descent over the text; depth is bounded because text comes from a short input field,
// but is still checked, as pasted text may be long.
#include "app/gui/controls/row.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace app::controls {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<double> whole() {
    const double value = sum(0);
    skip_blanks();
    if (failed_ || !text_.empty() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

 private:
  double sum(int depth) {
    double value = product(depth);
    while (!failed_) {
      if (accept('+')) {
        value += product(depth);
      } else if (accept('-')) {
        value -= product(depth);
      } else {
        break;
      }
    }
    return value;
  }

  double product(int depth) {
    double value = factor(depth);
    while (!failed_) {
      if (accept('*')) {
        value *= factor(depth);
      } else if (accept('/')) {
        value /= factor(depth);
      } else {
        break;
      }
    }
    return value;
  }

  double factor(int depth) {
    if (depth > kMaxDepth) return fail();
    if (accept('-')) return -factor(depth + 1);
    if (accept('(')) {
      const double value = sum(depth + 1);
      return accept(')') ? value : fail();
    }
    skip_blanks();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value * suffix();
  }

  double suffix() {
    double factor = 1;
    if (text_.starts_with('k') || text_.starts_with('K')) factor = 1000;
    if (text_.starts_with('M')) factor = 1000000;
    if (factor == 1) return 1;
    text_.remove_prefix(1);
    if (!text_.starts_with('i')) return factor;
    text_.remove_prefix(1);
    return factor == 1000 ? 1024 : 1048576;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  double fail() {
    failed_ = true;
    return 0;
  }

  std::string_view text_;
  bool failed_ = false;
};

}  // namespace

std::optional<double> evaluate_expression(std::string_view text) { return Parser(text).whole(); }

}  // namespace app::controls
