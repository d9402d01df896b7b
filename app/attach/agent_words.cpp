#include "app/attach/agent_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace app {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// False = there is no such setting, or it cannot have this value.
bool set(AgentOrder& order, std::string_view name, std::string_view value) {
  AttachOptions& program = order.program;
  if (name == "only") {
    program.only = value;
  } else if (name == "working_folder") {
    program.working_folder = value;
  } else if (name == "library") {
    program.library = value;
  } else if (name == "rank") {
    return read_number(value, program.rank.emplace());
  } else if (name == "spool_bytes") {
    return read_number(value, program.spool_bytes);
  } else if (name == "compare_memory") {
    program.compare_memory = value == "yes";
  } else if (name == "markers") {
    program.markers = value == "yes";
  } else if (name == "goes_on") {
    order.goes_on = value == "yes";
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> agent_words(const AgentOrder& order) {
  const AttachOptions& program = order.program;
  std::vector<std::string> words = {"only=" + program.only,
                                    "working_folder=" + program.working_folder,
                                    fmt::format("spool_bytes={}", program.spool_bytes)};
  if (program.rank) words.push_back(fmt::format("rank={}", *program.rank));
  if (!program.library.empty()) words.push_back("library=" + program.library);
  if (program.compare_memory) words.emplace_back("compare_memory=yes");
  if (program.markers) words.emplace_back("markers=yes");
  if (order.goes_on) words.emplace_back("goes_on=yes");
  words.emplace_back("--");
  words.insert(words.end(), program.command.begin(), program.command.end());
  return words;
}

engine::Result<AgentOrder> agent_order(const std::vector<std::string>& words) {
  AgentOrder order;
  const auto end = std::ranges::find(words, "--");
  for (auto word = words.begin(); word != end; ++word) {
    const std::size_t name = word->find('=');
    if (name == std::string::npos ||
        !set(order, std::string_view(*word).substr(0, name), word->substr(name + 1))) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("'{}' is no setting of this program", *word)};
    }
  }
  if (end != words.end()) order.program.command.assign(end + 1, words.end());
  if (!order.program.command.empty()) return order;
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      "this program is started by expertscope attach --remote and is not meant to be run by hand"};
}

}  // namespace app
