// The control rail: the settings of the request, in sections. A section shows the settings that the
// step has and that are often needed or changed; all of it, or nothing, on request. Changes the
// request that it is given and returns what else the user wants; the shell carries that out after
// the frame.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/controllers/link_supervisor.h"
#include "app/controllers/request_controls.h"
#include "app/controllers/request_operand.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/file_dialog.h"
#include "app/gui/shell/rail_sections.h"
#include "engine/input/presets.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/tensor_source.h"

namespace app {

struct RailWishes {
  bool run = false;
  bool cancel = false;
  std::optional<FilePurpose> browse;
  std::optional<UseTensor> tensor;      // a file that was named
  std::optional<UseDump> dump;          // all tensors of a file that was named
  std::optional<FileQuestion> inspect;  // a file that the worker should read
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
  /// Another worker answers from now on, so the rail asks about every file again.
  void forget_files();
  /// The request was set elsewhere: the text fields show its paths.
  void follow(const engine::RunRequest& request);

  RailWishes draw(const PanelContext& context, const LinkSupervisor& link,
                  engine::RunRequest& request, RailSections& sections, bool live,
                  const std::string& last_error);

 private:
  struct FileField {
    std::string text;  // as typed, applied when the field loses focus
    std::string inspected_path;
    std::string error;
    std::vector<engine::TensorEntry> tensors;
    std::vector<DumpPart> dump{};  // what its names, or those of the files beside it, say
  };

  FileField& file_field(RequestOperand operand) {
    return files_[static_cast<std::size_t>(operand)];
  }
  void draw_shape(engine::RunRequest& request);
  void draw_operand(RequestOperand operand, engine::RunRequest& request);
  void draw_operand_file(RequestOperand operand, engine::RunRequest& request);
  void draw_use_all(RequestOperand operand, const engine::RunRequest& request);
  void draw_routing_file(engine::RunRequest& request);
  /// What the worker found in it, and the button that takes its sizes over.
  void draw_recording(engine::RunRequest& request);
  /// A field for a path with a button that browses; true once the field was edited and left.
  bool draw_path(const std::string& prefix, std::string& text, const char* tooltip,
                 FilePurpose purpose);
  void draw_engine(engine::RunRequest& request);
  void draw_backend(engine::RunRequest& request);
  void draw_cublaslt(engine::RunRequest& request);
  void draw_algorithm_gains();
  void draw_footer(engine::RunRequest& request, bool live, const std::string& last_error);
  /// Leaves room for the controls: what is longer is scrolled, and whole in a tooltip.
  void show_error(const std::string& text);
  /// In place of Run and Live while the request is a recorded one.
  void draw_take_over();
  /// Beside a recording whose request is not known.
  void draw_whose_request();
  /// Of the run that the rail asks for, before it is made; else of the one on screen.
  void draw_deviations(engine::RunRequest& request);
  enum class Reasons { Below, InTooltip };
  void draw_changes(const char* whose, const std::vector<engine::Deviation>& deviations,
                    const engine::RunRequest& requested, Reasons reasons);
  /// Where the request's own backend is not available.
  void draw_use_cpu(engine::RunRequest& request);

  /// The table's controls from `first` to `last`, both ids, in its order.
  void draw_controls(const char* first, const char* last, engine::RunRequest& request);
  /// Nothing where the section does not show it.
  void draw_control(const RequestControl& control, engine::RunRequest& request);
  void draw_by_kind(const RequestControl& control, engine::RunRequest& request);
  void draw_segments(const RequestControl& control, engine::RunRequest& request);
  void draw_list(const RequestControl& control, engine::RunRequest& request);
  void draw_switch(const RequestControl& control, engine::RunRequest& request);
  void draw_number(const RequestControl& control, engine::RunRequest& request);
  /// Greyed out where the setting has no effect.
  controls::Options options_of(const RequestControl& control, const engine::RunRequest& request);
  bool gates_count(const RequestControl& control) const;
  /// What the gate table says of each choice; marks `options` where the chosen one is hazardous.
  std::vector<controls::Options> gates_of(const RequestControl& control,
                                          const engine::RunRequest& request, int chosen,
                                          controls::Options& options) const;
  engine::Verdict verdict_on(const RequestControl& control, engine::RunRequest request,
                             std::int64_t value) const;

  /// Draws its heading; false = folded.
  bool section(const char* title);
  /// "7 more", which shows all of the section, and "less".
  void draw_more(const std::string& title, const std::string& id);
  /// At the end of the row.
  void draw_at_right(const std::string& words, ImU32 color);
  /// Which controls are usual for this request: what each frame asks is kept.
  void find_usual(const engine::RunRequest& request);
  /// Its section shows it.
  bool shows(const RequestControl& control) const;
  bool is_wrong(std::string_view field) const;
  /// Left of a control that is not at its default.
  void mark_changed(const RequestControl& control);
  bool is_changed(const RequestControl& control) const;
  /// Continues the row of the control before, or begins one, with its label.
  void place_in_row(float gap);
  /// What the numbers of a routing file may be, a button for each.
  void draw_readings(engine::RunRequest& request);
  /// Draws the label column, for segmented controls.
  void row_label(const char* label);
  /// validate()'s sentence, under the control it is about.
  void error_under(std::string_view field);

  std::vector<engine::ShapePreset> presets_;
  // The combo box of presets, which begins with a shape set by hand.
  std::vector<std::string> preset_labels_;
  std::vector<controls::Options> preset_options_;
  std::array<FileField, 4> files_;  // by RequestOperand
  struct RoutingField {
    std::string text;                          // as typed, applied when the field loses focus
    std::string tensor;                        // as typed
    std::optional<engine::RoutingSpec> asked;  // what the rest answers
    std::optional<engine::RoutingFacts> facts;
    std::string error;
    std::vector<engine::RoutingReading> readings;  // to choose one from, where there are several
    std::optional<engine::RoutingSpec> chosen;     // once it is read, its sizes are taken over
    std::chrono::steady_clock::time_point answered_at = {};
  } routing_;
  float footer_height_ = 0;
  float error_height_ = 0;  // the most that an error takes

  // Valid only while a frame is drawn.
  const PanelContext* context_ = nullptr;
  const LinkSupervisor* link_ = nullptr;
  engine::Error problem_;  // no message: the request is valid
  RailWishes wishes_;
  RailSections* sections_ = nullptr;
  std::vector<bool> usual_;    // by request_controls()
  std::vector<bool> changed_;  // and has an effect
  engine::RunRequest usual_of_;
  bool usual_comparing_ = false;
  /// The row that several controls share.
  struct SharedRow {
    const char* label = nullptr;
    bool begun = false;
  } row_;
};

}  // namespace app
