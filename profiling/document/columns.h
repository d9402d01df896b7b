// Short ways to write columns, for the tables of this folder.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "profiling/document/table.h"
#include "profiling/document/underflow_words.h"

namespace profiling {

inline Column column(std::string key, Measure measure = Measure::Words, std::string title = {},
                     const char* tooltip = "", ColumnUse use = ColumnUse::Everywhere) {
  return {.key = std::move(key),
          .title = std::move(title),
          .measure = measure,
          .tooltip = tooltip,
          .use = use};
}
inline Column for_files(std::string key, Measure measure = Measure::Words) {
  return column(std::move(key), measure, {}, "", ColumnUse::Files);
}
inline Column for_people(std::string title, Measure measure = Measure::Words,
                         const char* tooltip = "") {
  return column({}, measure, std::move(title), tooltip, ColumnUse::People);
}

/// Left out where there is little room.
inline Column if_wide(std::string title, Measure measure = Measure::Words,
                      const char* tooltip = "") {
  return column({}, measure, std::move(title), tooltip, ColumnUse::WidePeople);
}

/// NaN is missing.
inline Cell known(double value) { return std::isnan(value) ? Cell() : Cell(value); }
/// A number of elements that something bad happened to.
inline Cell alarming(std::uint64_t count) {
  return toned(Cell(count), count > 0 ? Tone::Warning : Tone::Dim);
}

}  // namespace profiling
