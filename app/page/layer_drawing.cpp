#include "app/page/layer_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "app/plot/layer_arrows.h"
#include "app/plot/layer_model.h"
#include "engine/model/projections.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

constexpr double kTensorWidth = 110;
constexpr double kKernelWidth = 148;
constexpr double kGapX = 14;
constexpr double kGapY = 22;
constexpr double kMargin = 4;
constexpr double kInset = 6;
constexpr double kRound = 4;

/// Name and bytes, and what is kept, of which tokens have none.
double tensor_height(int row) {
  const bool tokens = row == 0 || row == kLayerRows - 1;
  return (tokens ? 2 : 3) * kSvgLineHeight + kInset;
}

/// Title, times or why there are none, and bytes.
double kernel_height(const LayerKernelBox& box) {
  const std::size_t lines =
      1 + std::max<std::size_t>(box.times.size(), 1) + (box.bytes > 0.0 ? 1 : 0);
  return static_cast<double>(lines) * kSvgLineHeight + kInset;
}

/// The columns and rows of boxes; one without boxes takes no room.
class LayerGrid {
 public:
  explicit LayerGrid(const LayerModel& model) {
    for (const LayerTensorBox& box : model.tensors())
      reserve(box.place, tensor_height(box.place.row));
    for (const LayerKernelBox& box : model.kernels()) reserve(box.place, kernel_height(box));
  }

  double width() const {
    return 4 * kTensorWidth + 3 * kKernelWidth + (kLayerColumns - 1) * kGapX + 2 * kMargin +
           kBesideColumn;
  }
  double height() const {
    double height = 2 * kMargin - kGapY;
    for (const double one : heights_) height += one > 0.0 ? one + kGapY : 0.0;
    return height;
  }
  /// Centred in its place.
  LayerBox of(LayerPlace place, double width, double height) const {
    double x = kMargin;
    double y = kMargin;
    for (int column = 0; column < place.column; ++column) x += column_width(column) + kGapX;
    for (int row = 0; row < place.row; ++row) {
      const double above = heights_[static_cast<std::size_t>(row)];
      if (above > 0.0) y += above + kGapY;
    }
    width = std::min(width, column_width(place.column));
    return {.x = x + 0.5 * (column_width(place.column) - width),
            .y = y + 0.5 * (heights_[static_cast<std::size_t>(place.row)] - height),
            .width = width,
            .height = height};
  }

 private:
  static double column_width(int column) { return column % 2 == 0 ? kTensorWidth : kKernelWidth; }
  void reserve(LayerPlace place, double height) {
    double& row = heights_[static_cast<std::size_t>(place.row)];
    row = std::max(row, height);
  }

  std::array<double, kLayerRows> heights_{};
};

class LayerDrawing {
 public:
  explicit LayerDrawing(const LayerModel& model)
      : model_(model), grid_(model), picture_(grid_.width(), grid_.height(), "Expert layer") {}

  SvgPicture draw() {
    for (const LayerArrow& arrow : model_.arrows()) add_arrow(arrow);
    for (const LayerKernelBox& box : model_.kernels()) add_kernels(box);
    for (const LayerTensorBox& box : model_.tensors()) add_tensor(box);
    return std::move(picture_);
  }

 private:
  LayerBox box_at(LayerPlace place) const {
    const auto kernels = std::ranges::find(model_.kernels(), place, &LayerKernelBox::place);
    return kernels == model_.kernels().end()
               ? grid_.of(place, kTensorWidth, tensor_height(place.row))
               : grid_.of(place, kKernelWidth, kernel_height(*kernels));
  }

  void add_arrow(const LayerArrow& arrow) {
    const std::vector<LayerPoint> path =
        arrow_path(box_at(arrow.from), box_at(arrow.to), arrow.kept, 1.0);
    const SvgPaint paint{.stroke = arrow.kept ? kSvgAccent : kSvgDim,
                         .dashes = arrow.kept ? "4 4" : ""};
    for (std::size_t i = 0; i + 2 < path.size(); ++i) {
      picture_.line({path[i].x, path[i].y}, {path[i + 1].x, path[i + 1].y}, paint);
    }
    const LayerPoint start = path[path.size() - 2];
    const LayerPoint tip = path.back();
    picture_.arrow({start.x, start.y}, {tip.x, tip.y}, paint);
    const std::string_view label = model_.label_of(arrow);
    if (label.empty()) return;
    const bool last = arrow.to.column + 1 == kLayerColumns;
    picture_.text(
        {tip.x + (last ? -kInset : kInset),
         tip.y > start.y ? start.y + kSvgTextSize + 2.0 : start.y - 4.0},
        label,
        {.anchor = last ? SvgWords::Anchor::End : SvgWords::Anchor::Start, .color = kSvgDim});
  }

  void add_frame(const LayerBox& box, const SvgPaint& paint, std::string hover = {}) {
    picture_.box({.x = box.x, .y = box.y, .width = box.width, .height = box.height}, paint,
                 std::move(hover), kRound);
  }

  void add_kernels(const LayerKernelBox& box) {
    const LayerBox at = box_at(box.place);
    add_frame(at, {.fill = "var(--page)", .stroke = kSvgLine},
              box.reads.empty() ? std::string(box.title)
                                : fmt::format("{}: quantizes {}", box.title, box.reads));
    const double left = at.x + kInset;
    const double right = at.x + at.width - kInset;
    double y = at.y + kSvgTextSize + 2.0;
    picture_.text({left, y}, box.title, {.room = right - left});
    if (box.times.empty()) {
      picture_.text({left, y += kSvgLineHeight}, box.note,
                    {.color = kSvgDim, .room = right - left});
    }
    for (const auto& [name, time] : box.times) {
      y += kSvgLineHeight;
      const std::string figure = profiling::duration_text(time.time.median);
      picture_.box({.x = left, .y = y - 8, .width = 8, .height = 8},
                   {.fill = svg_stage_color(time.stage)});
      picture_.text({left + 12, y}, name,
                    {.color = kSvgDim, .room = right - left - 16 - svg_text_width(figure)});
      picture_.text({right, y}, figure, {.anchor = SvgWords::Anchor::End});
    }
    if (box.bytes > 0.0) {
      picture_.text({left, y + kSvgLineHeight}, bytes_of(static_cast<std::int64_t>(box.bytes)),
                    {.color = kSvgDim});
    }
  }

  void add_tensor(const LayerTensorBox& box) {
    const engine::TensorResult& result = *box.result;
    const engine::StepTensorTraits& traits = engine::traits_of(result.tensor);
    const LayerBox at = box_at(box.place);
    const bool lost = result.error.lost > 0;
    add_frame(at, {.fill = kSvgRaised, .stroke = lost ? kSvgBad : kSvgLine},
              std::string(traits.meaning));
    const double left = at.x + kInset;
    const double right = at.x + at.width - kInset;
    double y = at.y + kSvgTextSize + 2.0;
    const std::string snr = std::isnan(result.error.snr_db)
                                ? std::string()
                                : profiling::decibels(result.error.snr_db).text();
    picture_.text({left, y}, traits.symbol,
                  {.room = right - left - svg_text_width(snr), .strong = true});
    picture_.text({right, y}, snr, {.anchor = SvgWords::Anchor::End});
    y += kSvgLineHeight;
    picture_.text({left, y}, bytes_of(result.bytes), {.color = kSvgDim});
    if (lost) {
      picture_.text({right, y},
                    profiling::si_text(static_cast<double>(result.error.lost)) + " lost",
                    {.anchor = SvgWords::Anchor::End, .color = kSvgBad});
    }
    if (result.saved_bytes > 0) {
      picture_.text({left, y + kSvgLineHeight}, bytes_of(result.saved_bytes) + " kept",
                    {.color = kSvgAccent, .room = right - left});
    }
  }

  const LayerModel& model_;
  LayerGrid grid_;
  SvgPicture picture_;
};

}  // namespace

SvgPicture layer_drawing(const profiling::RecordedRun& run) {
  if (!run.result.expert_layer.has_value()) return {};
  LayerModel model;
  // The model outlives nothing here: it need not own the run.
  model.set(std::shared_ptr<const profiling::RecordedRun>(std::shared_ptr<void>(), &run), 1);
  if (model.tensors().empty()) return {};
  return LayerDrawing(model).draw();
}

}  // namespace app
