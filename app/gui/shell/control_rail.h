// The control rail: every setting of the request, always in view, every change real. Changes the
// request it is given and says what else was wished; the shell carries wishes out after the frame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/controllers/link_supervisor.h"
#include "app/gui/shell/file_dialog.h"
#include "app/gui/view.h"
#include "engine/input/presets.h"
#include "engine/input/tensor_source.h"

namespace app {

struct RailWishes {
  bool run = false;
  bool cancel = false;
  bool live_touched = false;  // the person decided about Live, not a preset
  std::optional<FilePurpose> browse;
  std::optional<std::string> inspect;   // a tensor file whose header the worker should read
  std::optional<std::string> cublaslt;  // another library: needs a new worker
};

class ControlRail {
 public:
  explicit ControlRail(std::vector<engine::ShapePreset> presets);

  const std::vector<engine::ShapePreset>& presets() const { return presets_; }
  /// The first preset that is small enough for a CPU; null when there is none.
  const engine::ShapePreset* laptop_preset() const;
  const engine::ShapePreset* preset_named(const std::string& name) const;

  /// What the worker read from a file that the rail asked about.
  void file_inspected(const FileReport& report);
  /// A path chosen in the file dialog.
  void path_chosen(FilePurpose purpose, const std::string& path, engine::RunRequest& request);

  /// The request was set elsewhere: the text fields show its paths.
  void follow(const engine::RunRequest& request);

  RailWishes draw(const PanelContext& context, const LinkSupervisor& link,
                  engine::RunRequest& request, bool& live, const std::string& last_error);

 private:
  struct FileField {
    std::string text;  // as typed, taken over when the field is left
    std::string inspected_path;
    std::string error;
    std::vector<engine::TensorEntry> tensors;
  };

  FileField& file_field(engine::OperandRole role);
  void draw_shape(engine::RunRequest& request, bool& live);
  void draw_routing(engine::RunRequest& request);
  void draw_operand(engine::OperandRole role, engine::RunRequest& request);
  void draw_operand_file(engine::OperandRole role, engine::RunRequest& request);
  void draw_recipe(engine::RunRequest& request);
  void draw_high_precision(engine::Recipe& recipe);
  void draw_gradient_format(engine::RunRequest& request);
  void draw_delayed_scaling(engine::Recipe& recipe);
  void draw_square_blocks(engine::RunRequest& request);
  void draw_micro_scaling(engine::Recipe& recipe);
  void draw_step(engine::RunRequest& request);
  void draw_wgrad(engine::LinearOptions& linear);
  void draw_engine(engine::RunRequest& request);
  void draw_backend(engine::RunRequest& request);
  void draw_cuda_settings(engine::RunRequest& request);
  void draw_algorithm_gains();
  void draw_replay_watch(engine::LaunchMode& launch, const engine::RunRequest& request);
  void draw_cublaslt(engine::RunRequest& request);
  void draw_measure(engine::RunRequest& request);
  void draw_footer(const engine::RunRequest& request, bool& live, const std::string& last_error);
  void draw_deviations();

  void section(const char* title);
  /// The label column by hand, for segmented controls.
  void row_label(const char* label);
  /// validate()'s sentence, under the control it is about.
  void error_under(const char* field);
  bool drag(const char* id, const char* label, std::int64_t& value, std::int64_t minimum,
            std::int64_t maximum, std::int64_t reset, const char* tooltip, float share = 1);

  std::vector<engine::ShapePreset> presets_;
  FileField activations_;
  FileField weights_;
  FileField gradients_;
  std::string routing_text_;
  float footer_height_ = 0;

  // Of the frame being drawn only.
  const PanelContext* context_ = nullptr;
  const LinkSupervisor* link_ = nullptr;
  std::string problem_;
  RailWishes wishes_;
};

}  // namespace app
