#include "app/page/run_pictures.h"

#include <fmt/format.h>

#include <string>

#include "app/page/channel_picture.h"
#include "app/page/layer_drawing.h"
#include "app/page/scale_map_picture.h"
#include "app/page/step_timeline.h"
#include "app/plot/kept_room.h"
#include "engine/model/projections.h"
#include "profiling/document/channel_words.h"

namespace app {
namespace {

bool has_pictures(const engine::TensorResult& tensor) {
  return tensor.quantization &&
         (tensor.quantization->scale_map.rows > 0 || tensor.quantization->channels);
}

void write_each_operand(const engine::RunResult& result, HtmlPage& page) {
  for (const engine::TensorResult& one : result.tensors) {
    if (!has_pictures(one)) continue;
    const engine::ScaleMap& map = one.quantization->scale_map;
    const std::string title = fmt::format("{}: where its scales are large",
                                          engine::tensor_symbol(result.effective.step, one.tensor));
    const ScaleMapPicture made = scale_map_picture(map, title);
    page.picture(made.picture, title, made.note);
    const auto& channels = one.quantization->channels;
    if (!channels) continue;
    const std::string columns =
        fmt::format("{}: its columns", engine::tensor_symbol(result.effective.step, one.tensor));
    page.picture(channel_picture(*channels, columns), columns,
                 profiling::channels_text(channels->columns, profiling::ChannelAxis::Columns));
  }
}

/// Folded: they are many, and for readers who look for outliers.
void write_operands(const engine::RunResult& result, HtmlPage& page) {
  std::string symbols;
  for (const engine::TensorResult& one : result.tensors) {
    if (!has_pictures(one)) continue;
    symbols += fmt::format("{}{}", symbols.empty() ? "" : ", ",
                           engine::tensor_symbol(result.effective.step, one.tensor));
  }
  if (symbols.empty()) return;
  page.details("Maps of the scales, and the columns with outliers: " + symbols,
               [&] { write_each_operand(result, page); });
}

}  // namespace

void write_run_pictures(const profiling::RecordedRun& run, HtmlPage& page) {
  const std::string room = kept_room_text(run);
  page.picture(layer_drawing(run), "Expert layer",
               "Layer 0, median times per step. dB: SNR of the tensor as the next product reads "
               "it, in the layer. Blue: kept for backward" +
                   (room.empty() ? room : "; " + room));
  const StepTimeline timeline = step_timeline(run);
  page.picture(timeline.picture, "Timeline of one step", timeline.note);
  write_operands(run.result, page);
}

}  // namespace app
