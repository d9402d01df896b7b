// What a plot drew, kept as triangles and emitted again as long as nothing it depends on has
// changed. Rule: the key contains everything the drawing depends on, and all of it lies in one clip
// rectangle; what follows the mouse is drawn every frame, on top.
#pragma once

#include <imgui.h>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/gui/theme/theme.h"
#include "app/plot/range.h"

namespace app::plot {

/// The theme's kind and scale stand for colours and fonts; the plot adds the rest, bit for bit. NaN
/// equals itself here.
class DrawingKey {
 public:
  template <class... Parts>
  explicit DrawingKey(const Theme& theme, const Parts&... parts) {
    static_assert(2 + 2 * sizeof...(Parts) <= kMost);  // a point or a range is two words
    add(static_cast<int>(theme.kind));
    add(theme.scale);
    (add(parts), ...);
  }
  bool operator==(const DrawingKey&) const = default;

 private:
  static constexpr std::size_t kMost = 32;

  void add(std::uint64_t bits) { words_[count_++] = bits; }
  template <std::integral Number>
    requires(!std::same_as<Number, std::uint64_t>)
  void add(Number value) {
    add(static_cast<std::uint64_t>(value));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  void add(ImVec2 value) { add(value.x), add(value.y); }
  void add(Range value) { add(value.min), add(value.max); }
  void add(std::string_view text) { add(std::uint64_t{std::hash<std::string_view>{}(text)}); }

  std::array<std::uint64_t, kMost> words_{};
  std::size_t count_ = 0;
};

class KeptDrawing {
 public:
  /// Emits what is kept into the list if it was drawn for this key and in this clip rectangle.
  /// Otherwise `draw` draws it there, and that is kept.
  template <class Draw>
  void put(ImDrawList& list, const DrawingKey& key, Draw&& draw) {
    if (again(list, key)) return;
    const Begin begin = begin_of(list);
    draw();
    keep(list, key, begin);
  }

 private:
  struct Begin {
    int vertex = 0;
    int index = 0;
    ImDrawCmdHeader header{};
    int commands = 0;
    unsigned int first_index = 0;  // the index that the first vertex would have
  };

  static Begin begin_of(const ImDrawList& list);
  bool again(ImDrawList& list, const DrawingKey& key) const;
  void keep(const ImDrawList& list, const DrawingKey& key, const Begin& begin);

  bool valid_ = false;
  DrawingKey key_{Theme()};
  ImVec4 clip_{};
  std::vector<ImDrawVert> vertices_;
  std::vector<ImDrawIdx> indices_;  // from 0
};

}  // namespace app::plot
