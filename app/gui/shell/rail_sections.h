// How much the rail shows of each of its sections.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace app {

/// By the titles of sections; the others show their usual settings.
struct RailSections {
  using Titles = std::set<std::string, std::less<>>;
  Titles folded{};  // the heading alone
  Titles full{};    // all settings: those without an effect are greyed, with the reason
  bool operator==(const RailSections&) const = default;
};

}  // namespace app
