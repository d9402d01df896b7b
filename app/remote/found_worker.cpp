#include "app/remote/found_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/remote/worker_bundle.h"

namespace app {
namespace {

constexpr std::size_t kShownDigits = 8;  // of a build's name

}  // namespace

std::string found_worker_words(const MachineFacts& machine, const std::string& own) {
  const auto running = [&](const std::string& name) {
    return std::ranges::find(machine.in_use, name) != machine.in_use.end();
  };
  std::string same;
  std::string others;
  if (machine.has_bundle) same = running(own) ? "the same build, running" : "the same build";
  for (const std::string& name : machine.bundles) {
    if (!is_bundle_name(name)) continue;
    if (name == own) {
      // It has our name, and not our contents.
      if (!machine.has_bundle) same = "this build, damaged";
      continue;
    }
    others += fmt::format("{}{}{}", others.empty() ? "" : ", ", name.substr(0, kShownDigits),
                          running(name) ? " (running)" : "");
  }
  if (same.empty() && others.empty()) return "no worker yet";
  const std::string_view between = same.empty() || others.empty() ? "" : "; ";
  const std::string_view before = others.empty() ? "" : "another build, ";
  return fmt::format("worker: {}{}{}{}", same, between, before, others);
}

}  // namespace app
