// The subjects of visits from before the rows of a step were called so: they counted rows, and said
// tokens.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "engine/model/counted.h"

namespace profiling {

/// "expert layer, 32 experts, 32 768 rows, n 4096, ..." for "expert layer, 32 experts, 32768
/// tokens, n 4096, ..."; any other subject as it is.
inline std::string present_subject(std::string subject) {
  constexpr std::string_view kFormer = " tokens, n ";
  if (!subject.starts_with("expert layer, ") && !subject.starts_with("grouped linear step, ")) {
    return subject;
  }
  const std::size_t end = subject.find(kFormer);
  if (end == std::string::npos) return subject;
  const std::size_t begin = subject.rfind(' ', end - 1) + 1;
  std::int64_t rows = 0;
  const auto read = std::from_chars(subject.data() + begin, subject.data() + end, rows);
  if (read.ec != std::errc() || read.ptr != subject.data() + end) return subject;
  constexpr std::string_view kWord = " tokens";
  return subject.replace(begin, end + kWord.size() - begin, engine::counted(rows, "row"));
}

}  // namespace profiling
