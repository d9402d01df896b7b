// What a piece of work writes, by which it is named: a tensor of the step, or copies of it in codes
// and scales. One byte, because every record of a trace has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/model/step_tensors.h"

namespace engine {

/// Sets of these are numbers: a kernel can write both copies at once.
enum class CopyForms : std::uint8_t { None = 0, Rowwise = 1, Columnwise = 2, Both = 3 };
constexpr CopyForms operator|(CopyForms a, CopyForms b) {
  return static_cast<CopyForms>(static_cast<int>(a) | static_cast<int>(b));
}
inline constexpr int kCopyForms = 4;

/// 0 is unknown; else 1 + kCopyForms * tensor + forms. Numbers are in recordings and on the wire:
/// a tensor that is added at the end of StepTensor adds numbers at the end.
enum class WrittenValue : std::uint8_t { Unknown = 0 };

inline constexpr std::size_t kWrittenValues = 1 + kCopyForms * kStepTensors.size();
static_assert(kWrittenValues <= 256, "A WrittenValue is one byte");

constexpr WrittenValue written(StepTensor tensor, CopyForms forms = CopyForms::None) {
  return static_cast<WrittenValue>(1 + kCopyForms * static_cast<int>(tensor) +
                                   static_cast<int>(forms));
}
constexpr bool is_known(WrittenValue value) {
  return value != WrittenValue::Unknown && static_cast<std::size_t>(value) < kWrittenValues;
}
/// Of a known value.
constexpr StepTensor tensor_of(WrittenValue value) {
  return static_cast<StepTensor>((static_cast<int>(value) - 1) / kCopyForms);
}
constexpr CopyForms forms_of(WrittenValue value) {
  return static_cast<CopyForms>((static_cast<int>(value) - 1) % kCopyForms);
}
/// The tensor itself, of which a copy is made.
constexpr WrittenValue without_forms(WrittenValue value) {
  return is_known(value) ? written(tensor_of(value)) : value;
}
/// " rowwise and columnwise"; empty for no copies.
constexpr std::string_view words_of(CopyForms forms) {
  constexpr std::array<std::string_view, kCopyForms> kWords = {"", " rowwise", " columnwise",
                                                               " rowwise and columnwise"};
  return kWords[static_cast<std::size_t>(forms)];
}

namespace detail {

/// "dw-up", "w-up columnwise": texts of the names, which must outlive them.
inline constexpr std::size_t kLongestWrittenName = 48;
struct WrittenNames {
  std::array<std::array<char, kLongestWrittenName>, kWrittenValues> texts{};
  std::array<std::size_t, kWrittenValues> lengths{};
};
constexpr WrittenNames make_written_names() {
  WrittenNames names;
  const auto append = [&](std::size_t number, std::string_view text) {
    for (const char letter : text) names.texts[number][names.lengths[number]++] = letter;
  };
  append(0, "unknown");
  for (std::size_t number = 1; number < kWrittenValues; ++number) {
    const auto value = static_cast<WrittenValue>(number);
    append(number, enum_names(StepTensor{})[static_cast<std::size_t>(tensor_of(value))]);
    append(number, words_of(forms_of(value)));
  }
  return names;
}
inline constexpr WrittenNames kWrittenNames = make_written_names();

}  // namespace detail

constexpr auto enum_names(WrittenValue) {
  std::array<std::string_view, kWrittenValues> names;
  for (std::size_t number = 0; number < kWrittenValues; ++number) {
    names[number] = {detail::kWrittenNames.texts[number].data(),
                     detail::kWrittenNames.lengths[number]};
  }
  return names;
}

}  // namespace engine
