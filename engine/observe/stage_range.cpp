#include "engine/observe/stage_range.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <unordered_map>

namespace engine {
namespace {

constexpr std::string_view kLayer = ", layer ";
constexpr std::string_view kExpert = ", expert ";
constexpr std::string_view kIteration = "iteration ";

/// Null while no profiler is attached: NVTX looks for one at the first call only.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA(kRangeDomain);
  return handle;
}

void push(nvtxMessageType_t type, nvtxMessageValue_t message) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = type;
  attributes.message = message;
  (void)nvtxDomainRangePushEx(domain(), &attributes);
}

/// Names repeat in every step, so each is built and registered once per thread.
nvtxStringHandle_t registered(const WorkTag& tag) {
  thread_local std::unordered_map<std::uint64_t, nvtxStringHandle_t> names;
  const std::uint64_t key = static_cast<std::uint64_t>(tag.expert + 1) << 32 |
                            static_cast<std::uint64_t>(tag.layer) << 8 |
                            static_cast<std::uint64_t>(tag.stage);
  const auto [name, fresh] = names.try_emplace(key, nullptr);
  if (fresh) name->second = nvtxDomainRegisterStringA(domain(), range_name(tag).c_str());
  return name->second;
}

/// Removes `prefix` and the number after it from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int number = 0;
  const char* const first = text.data() + prefix.size();
  const auto [last, error] = std::from_chars(first, text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(last - text.data()));
  return number;
}

}  // namespace

std::string range_name(const WorkTag& tag) {
  std::string name = fmt::format("{}{}{}", stage_name(tag.stage), kLayer, tag.layer);
  if (tag.expert >= 0) name += fmt::format("{}{}", kExpert, tag.expert);
  return name;
}

std::string range_name(int iteration) { return fmt::format("{}{}", kIteration, iteration); }

std::optional<RangePlace> range_place(std::string_view name) {
  RangePlace place;
  if (const std::optional<int> iteration = take_number(name, kIteration)) {
    place.iteration = *iteration;
    return name.empty() ? std::optional(place) : std::nullopt;
  }
  const auto* const stage = std::ranges::find(kStageNames, name.substr(0, name.find(',')));
  if (stage == kStageNames.end()) return std::nullopt;
  place.tag.stage = static_cast<Stage>(stage - kStageNames.begin());
  name.remove_prefix(stage->size());
  const std::optional<int> layer = take_number(name, kLayer);
  if (!layer) return std::nullopt;
  place.tag.layer = *layer;
  place.tag.expert = take_number(name, kExpert).value_or(-1);
  return name.empty() ? std::optional(place) : std::nullopt;
}

StageRange::StageRange(const WorkTag& tag) {
  if (domain() == nullptr) return;
  open_ = true;
  push(NVTX_MESSAGE_TYPE_REGISTERED, {.registered = registered(tag)});
}

StageRange::StageRange(int iteration) {
  if (domain() == nullptr) return;
  open_ = true;
  const std::string name = range_name(iteration);
  push(NVTX_MESSAGE_TYPE_ASCII, {.ascii = name.c_str()});
}

StageRange::~StageRange() {
  if (open_) (void)nvtxDomainRangePop(domain());
}

}  // namespace engine
