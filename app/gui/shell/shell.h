// The window: draws the bar, the rail and the current page, and forwards the commands of a frame to
// the controllers after it. Knows nothing of GLFW.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/workbench.h"
#include "app/gui/cards/page.h"
#include "app/gui/shell/attach_dialog.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/command_palette.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/file_dialog.h"
#include "app/gui/shell/keys.h"
#include "app/gui/shell/machine_dialog.h"
#include "app/gui/shell/saved_frame.h"
#include "app/gui/shell/settings.h"
#include "app/gui/shell/window.h"

namespace app {

/// Grid pixels kept free for the caption below a picture of a card.
inline constexpr float kCaptionHeight = 120;

class Shell {
 public:
  Shell(const WindowOptions& options, LoadedSettings settings, const std::function<void()>& wake);

  /// Starts the worker and whatever the options ask to begin with.
  void begin();
  /// Processes results; true when something on screen has changed.
  bool tick();
  void carry_out(const Command& command);
  void draw(const Theme& theme, const PlotKeys& keys);
  /// The window is visible: only then is the device read between runs.
  void seen(bool visible) { workbench_.runs.link.watch_device(visible); }
  /// How many frames follow the next one without another event; for its control map.
  void frames_follow(int frames) { frames_left_ = frames; }
  /// The frame about to be drawn becomes a picture: nothing is to be under the pointer.
  /// The frame's pixels go into a file.
  bool takes_picture() const {
    return screenshot_wanted_ || workbench_.tours.wanted_picture().has_value();
  }
  /// The picture of a card that is to be written now: its menu has closed.
  std::optional<PictureOrder> take_due_picture();
  /// Draws the window once more, for a picture; what is ordered there is dropped.
  void draw_picture(const Theme& theme, PicturePass& pass);
  /// Reads the framebuffer that the card was drawn into.
  void save_card_picture(const PictureOrder& order, int width, int height, bool drawn);
  /// After the frame is rendered and before the swap.
  void after_render(const Theme& theme, int width, int height);

  Settings& settings() { return settings_; }
  const Settings& settings() const { return settings_; }
  /// To draw with: the user's own, larger while a card is presented.
  float text_scale() const { return settings_.text_scale * workbench_.presentation.scale(); }
  /// Puts what is on screen into the settings, for the next start.
  void remember();
  /// A worker on this machine times iterations: drawing now would disturb the measurement.
  bool timing() const { return workbench_.runs.timing(); }
  bool touring() const { return workbench_.tours.to_user(); }
  bool presenting() const { return workbench_.presentation.on(); }
  /// Nobody is at the mouse: a tour writes its pictures.
  bool unattended() const { return workbench_.tours.to_pictures(); }
  /// For a FrameProbe: what is shown, and the controls of the newest frame.
  const SessionState& state() const { return workbench_.runs.state; }
  const ControlMap& controls() const { return controls_; }
  /// At once: results that are in no file are lost.
  void close(int exit_code) { exit_code_ = exit_code; }
  bool closing() const { return exit_code_.has_value(); }
  int exit_code() const { return exit_code_.value_or(0); }

 private:
  void act(Action action);
  void act_on_window(Action action);
  /// After going back to the runs of this window: a page that cannot show one gives way to one that
  /// can.
  void leave_empty_page();
  void close_front();
  /// Asks first if results would be lost.
  void ask_to_close();
  void answer_close(CloseAnswer answer) {
    if (closing_.answer(answer)) close(0);
  }
  void begin_with_request();
  bool begins_with_example() const;
  void show(const ShowPage& order);
  void ask_path(FilePurpose purpose);
  void use_path(const FileDialog::Choice& choice);
  bool status_changed();
  void take_end_of_tour();
  SessionView view() const;
  PagePanel& page() { return *pages_[static_cast<std::size_t>(page_)]; }
  const PagePanel& page_of(Page page) const { return *pages_[static_cast<std::size_t>(page)]; }
  void order_button(const PressButton& order);
  void follow_ordered_button();
  // presenting.cpp
  /// The pages as the user has left them, whatever a tour or a presentation shows.
  Presentation::Before pages_of_user() const;
  void present(Action action);
  void present_card(const std::string& card);
  PresentingPass presenting_pass();
  /// What the frame showed decides where the next one goes, and how large its text is.
  void follow_presented(const PresentingPass& pass);
  void end_presenting();
  /// Two lines: which card it is, and of which run.
  static float presented_height(const Theme& theme);
  void draw_presented_line(const PanelContext& context);
  // shell_draw.cpp
  void draw_root(const PanelContext& context);
  void draw_rail(const PanelContext& context, float height);
  void draw_splitter(const PanelContext& context, float height);
  void draw_main(const PanelContext& context, float height);
  std::vector<Banner> banners(const PanelContext& context);
  void draw_overlays(const PanelContext& context);
  void save_picture(const std::string& stem, int width, int height);
  void write_pictures(int width, int height);

  const WindowOptions options_;
  Settings settings_;
  const bool first_start_;
  bool welcome_closed_ = false;
  Workbench workbench_;
  ControlRail rail_;
  engine::RunRequest request_in_rail_;  // as the rail has seen it
  FileDialog dialog_;
  MachineDialog machine_dialog_;
  AttachDialog attach_dialog_;
  // What will be written to the path that the dialog asks for.
  DoctorState::Report report_;
  SessionState::Run exported_run_;
  RecordsOrder records_order_;
  std::array<std::unique_ptr<PagePanel>, 4> pages_;  // by Page
  Page page_ = Page::Performance;
  PageState drawn_page_;   // by the newest frame; its commands may show another one next
  PlotKeys ordered_keys_;  // by name, for the next frame
  /// Likewise, but its page may first have to be drawn.
  struct OrderedButton {
    PressButton order{};  // no id = none
    double until = 0.0;   // when it is given up
  };
  OrderedButton ordered_button_;
  CommandPalette palette_;
  bool help_ = false;
  Closing closing_{workbench_.files, workbench_.runs.state};
  bool page_closed_front_ = false;  // by this frame's Escape: it means nothing else
  ControlMap controls_;
  NumberEdit number_edit_;
  RunPicker run_picker_;
  MessageStrip strip_;
  profiling::Distribution step_ns_;            // of the run on screen
  profiling::MedianPrecision step_precision_;  // of its median
  std::pair<std::uint64_t, bool> step_key_{};  // run and choice that they are of
  std::uint64_t gesture_ = 0;  // presses of the mouse so far: a drag is one step of the history
  bool screenshot_wanted_ = false;
  std::optional<PictureOrder> picture_;
  int picture_frames_ = 0;  // still to be drawn before it: the menu and the tooltip go first
  std::string screenshot_path_;
  LinkStatus drawn_status_;
  DeviceWords drawn_device_;
  std::uint64_t frame_ = 0;
  int frames_left_ = 0;
  bool draw_again_ = false;  // what was drawn has changed what is to be shown
  std::optional<int> exit_code_;
};

}  // namespace app
