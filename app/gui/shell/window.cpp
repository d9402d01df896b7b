// GLFW, OpenGL and when frames are drawn: after input, when a result or a worker has changed
// something, or while something moves. Otherwise the window sleeps.
#include "app/gui/shell/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
// After GLFW: OpenGL 1.x entry points only, which every libGL exports.
#include <GL/gl.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/gui/shell/card_picture.h"
#include "app/gui/shell/display_libraries.h"
#include "app/gui/shell/input_queue.h"
#include "app/gui/shell/key_repeat.h"
#include "app/gui/shell/keys.h"
#include "app/gui/shell/presented_frame.h"
#include "app/gui/shell/settings.h"
#include "app/gui/shell/shell.h"

namespace app {
namespace {

// ImGui needs a few frames until hover states and sizes are stable.
constexpr int kFramesAfterEvent = 3;
// How late a stalled pulse may be seen; checking costs microseconds and draws nothing.
constexpr double kTickSeconds = 0.1;
constexpr double kCaretSeconds = 0.4;
// While a worker of this machine times its iterations; input is answered at once.
constexpr double kTimingSeconds = 0.5;

// A hand in a hurry moves the mouse between two clicks; pixels.
constexpr float kClickDistance = 12;
constexpr float kAnyTime = 3600;

// What a click or a key opens takes the focus in the second frame after it.
constexpr int kFramesToFocus = 2;

/// Input collected by the callbacks for the loop.
struct Input {
  bool any = false;
  InputQueue queue;
  ClickTimes clicks;
  double read = 0;  // when the newest input had been read, in seconds
  std::array<bool, ImGuiMouseButton_COUNT> buttons{};  // as of the last frame
  std::optional<ImVec2> cursor;                        // none = it has not moved yet
  // As of the last frame.
  bool touring = false;
  bool presenting = false;
  bool seen = true;     // not iconified
  bool exposed = true;  // pixels of the window may be gone
  std::vector<Action> actions;
  PlotKeys plot_keys;
  std::vector<std::string> dropped_files;
};

Input& input_of(GLFWwindow* window) {
  return *static_cast<Input*>(glfwGetWindowUserPointer(window));
}

/// With Ctrl, letters are those printed on the keys (undo is the Z of this layout); without, a key
/// is its place, as GLFW names it.
int printed_key(int key, int scancode, int modifiers) {
  if ((modifiers & GLFW_MOD_CONTROL) == 0 || key < GLFW_KEY_A || key > GLFW_KEY_Z) return key;
  const char* name = glfwGetKeyName(key, scancode);
  if (name == nullptr || name[0] < 'a' || name[0] > 'z' || name[1] != '\0') return key;
  return GLFW_KEY_A + (name[0] - 'a');
}

/// Hands one event to ImGui and adds what it means to the window.
class Feed {
 public:
  Feed(GLFWwindow* window, Input& input) : window_(window), input_(input) {}

  void operator()(const KeyInput& one) {
    ImGui_ImplGlfw_KeyCallback(window_, one.key, one.scancode, one.action, one.modifiers);
    if (one.action == GLFW_RELEASE) return;
    if (one.key == GLFW_KEY_TAB) input_.queue.hold_keys(kFramesToFocus);
    const int key = printed_key(one.key, one.scancode, one.modifiers);
    const KeyContext context{.typing = ImGui::GetIO().WantTextInput,
                             .touring = input_.touring,
                             .presenting = input_.presenting};
    const auto meant = action_of(key, one.modifiers, context);
    if (meant) act(*meant);
    // Escape also drops the selection of the plot under the mouse.
    const bool taken = meant && *meant != Action::Close;
    if (!context.typing && !taken) add_plot_key(key, one.modifiers, input_.plot_keys);
  }
  void operator()(const CharInput& one) {
    ImGui_ImplGlfw_CharCallback(window_, one.codepoint);
    // By character, not by key: where `?` lies depends on the layout.
    if (one.codepoint == '?' && !ImGui::GetIO().WantTextInput) act(Action::Help);
  }
  void operator()(const ButtonInput& one) {
    const auto button = static_cast<std::size_t>(one.button);
    if (button >= input_.buttons.size()) return;
    input_.buttons[button] = one.action != GLFW_RELEASE;
    // ImGui would compare the times of frames.
    if (one.action != GLFW_RELEASE) {
      ImGui::GetIO().MouseDoubleClickTime = one.again ? kAnyTime : 0.0F;
    }
    input_.queue.hold_keys(kFramesToFocus);
  }
  void operator()(const CursorInput& one) {
    input_.cursor = {static_cast<float>(one.x), static_cast<float>(one.y)};
  }
  void operator()(const ScrollInput& one) { ImGui_ImplGlfw_ScrollCallback(window_, one.x, one.y); }

 private:
  void act(Action action) {
    input_.actions.push_back(action);
    input_.queue.hold_keys(kFramesToFocus);
  }

  GLFWwindow* window_;
  Input& input_;
};

template <class Event>
void collect(GLFWwindow* window, const Event& event) {
  input_of(window).any = true;
  input_of(window).queue.push(event);
}

void install_callbacks(GLFWwindow* window) {
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int modifiers) {
    const KeyInput one{key, scancode, action, modifiers};
    input_of(w).clicks.take(one);
    collect(w, one);
  });
  glfwSetCharCallback(
      window, [](GLFWwindow* w, unsigned int codepoint) { collect(w, CharInput{codepoint}); });
  glfwSetCursorPosCallback(
      window, [](GLFWwindow* w, double x, double y) { collect(w, CursorInput{x, y}); });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int modifiers) {
    Input& input = input_of(w);
    const bool pressed = action != GLFW_RELEASE;
    const bool again = pressed && input.clicks.again(button, input.read, glfwGetTime());
    collect(w, ButtonInput{button, action, modifiers, again});
  });
  glfwSetScrollCallback(window,
                        [](GLFWwindow* w, double x, double y) { collect(w, ScrollInput{x, y}); });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    input_of(w).any = true;
    for (int i = 0; i < count; ++i) input_of(w).dropped_files.emplace_back(paths[i]);
  });
  glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int entered) {
    input_of(w).any = true;
    ImGui_ImplGlfw_CursorEnterCallback(w, entered);
  });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int focused) {
    input_of(w).any = true;
    ImGui_ImplGlfw_WindowFocusCallback(w, focused);
  });
  glfwSetWindowIconifyCallback(window, [](GLFWwindow* w, int iconified) {
    input_of(w).seen = iconified == GLFW_FALSE;
    input_of(w).exposed = true;
  });
  glfwSetWindowRefreshCallback(window,
                               [](GLFWwindow* w) { input_of(w).any = input_of(w).exposed = true; });
  glfwSetFramebufferSizeCallback(
      window, [](GLFWwindow* w, int, int) { input_of(w).any = input_of(w).exposed = true; });
}

class Glfw {
 public:
  Glfw() : ready_(glfwInit() == GLFW_TRUE) {}
  ~Glfw() {
    if (ready_) glfwTerminate();
  }
  Glfw(const Glfw&) = delete;
  Glfw& operator=(const Glfw&) = delete;
  bool ready() const { return ready_; }

 private:
  bool ready_;
};

/// The OS window with its OpenGL context and ImGui on top, destroyed in the right order.
class Surface {
 public:
  Surface(const WindowOptions& options, const Settings& settings, Input& input) {
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    const int width = options.width > 0 ? options.width : settings.width;
    const int height = options.height > 0 ? options.height : settings.height;
    window_ = glfwCreateWindow(width, height, "Expertscope", nullptr, nullptr);
    if (window_ == nullptr) return;
    glfwSetWindowSizeLimits(window_, WindowOptions::kLeastWidth, WindowOptions::kLeastHeight,
                            GLFW_DONT_CARE, GLFW_DONT_CARE);
    place(settings);
    glfwSetWindowUserPointer(window_, &input);
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    ImGui::CreateContext();
    // The window keeps its own settings file.
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().ConfigWindowsMoveFromTitleBarOnly = true;
    ImGui::GetIO().MouseDoubleClickMaxDist = kClickDistance;
    ImGui_ImplGlfw_InitForOpenGL(window_, false);
    install_callbacks(window_);
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  ~Surface() {
    if (window_ == nullptr) return;
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(window_);
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  GLFWwindow* window() const { return window_; }

 private:
  /// Where it was left, if a monitor still shows that place.
  void place(const Settings& settings) {
    int count = 0;
    GLFWmonitor** monitors = glfwGetMonitors(&count);
    for (int i = 0; i < count; ++i) {
      int x = 0;
      int y = 0;
      int width = 0;
      int height = 0;
      glfwGetMonitorWorkarea(monitors[i], &x, &y, &width, &height);
      // Some of the top bar must be reachable.
      constexpr int kReach = 80;
      if (settings.x > x - kReach && settings.x < x + width - kReach && settings.y >= y &&
          settings.y < y + height - kReach) {
        glfwSetWindowPos(window_, settings.x, settings.y);
        return;
      }
    }
  }

  GLFWwindow* window_ = nullptr;
};

float display_scale(GLFWwindow* window) {
  float x = 1;
  float y = 1;
  glfwGetWindowContentScale(window, &x, &y);
  return std::clamp(std::round(std::max(x, y) * 10.0F) / 10.0F, 0.8F, 2.0F);
}

/// Follows what the window asks for; fonts are rasterised again only when the scale has changed.
void follow_settings(Theme& theme, const Shell& shell, bool first) {
  const ThemeKind kind = shell.settings().theme;
  const bool scaled = first || theme.scale != shell.text_scale();
  if (!scaled && theme.kind == kind) return;
  theme.kind = kind;
  theme.colors = palette(theme.kind);
  theme.scale = shell.text_scale();
  if (scaled) {
    theme.fonts = load_fonts(theme.scale);
    if (!first) {
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
  }
  apply_style(theme);
}

double now_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// A time on this thread's CPU clock and on the wall clock.
struct Moment {
  double cpu = now_ms(CLOCK_THREAD_CPUTIME_ID);
  double wall = now_ms(CLOCK_MONOTONIC);
};

/// The events of one frame. ImGui's backend has run and has asked where the mouse is now, which may
/// be ahead of the events. Without a pointer nothing is hovered or clicked.
void feed_input(GLFWwindow* window, Input& input, bool pointed) {
  ImGuiIO& io = ImGui::GetIO();
  Feed feed(window, input);
  const std::vector<InputEvent> taken = input.queue.next_frame();
  for (const InputEvent& event : taken) std::visit(feed, event);
  follow_key_repeats(taken);
  if (ImGui::IsMousePosValid(&io.MousePos) && input.cursor) io.MousePos = *input.cursor;
  std::ranges::copy(input.buttons, io.MouseDown);
  if (!pointed) {
    io.MousePos = {-FLT_MAX, -FLT_MAX};
    std::ranges::fill(io.MouseDown, false);
  }
}

FrameCost draw_frame(GLFWwindow* window, Shell& shell, Theme& theme, Input& input,
                     PresentedFrame& presented, FrameProbe* probe) {
  const Moment begun;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  // A picture of an unattended tour must not show the tooltip under a mouse that was left there.
  feed_input(window, input, /*pointed=*/!shell.unattended());
  for (const Action action : std::exchange(input.actions, {})) shell.carry_out(action);
  // Never a tooltip in a picture; a drag keeps its pointer.
  if (shell.takes_picture() && std::ranges::none_of(input.buttons, std::identity())) {
    ImGui::GetIO().MousePos = ImVec2(-FLT_MAX, -FLT_MAX);
  }
  if (probe != nullptr) probe->feed(shell);
  ImGui::NewFrame();
  shell.draw(theme, std::exchange(input.plot_keys, {}));
  ImGui::Render();
  const Moment built;
  FrameCost cost{.cpu = built.cpu - begun.cpu};
  if (probe != nullptr && !probe->presents()) return cost;
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  if (std::exchange(input.exposed, false) || shell.takes_picture() || probe != nullptr)
    presented.lost();
  const bool draws =
      presented.changes_to(*ImGui::GetDrawData(), width, height, theme.colors.window);
  if (draws) {
    glViewport(0, 0, width, height);
    const ImVec4 background = ImGui::ColorConvertU32ToFloat4(theme.colors.window);
    glClearColor(background.x, background.y, background.z, 1.0F);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  }
  shell.after_render(theme, width, height);
  write_card_picture(shell, theme);
  if (draws) {
    glfwSwapBuffers(window);
    cost.present = Moment().wall - built.wall;
  }
  return cost;
}

int loop(GLFWwindow* window, Shell& shell, Input& input, FrameProbe* probe) {
  Theme theme;
  follow_settings(theme, shell, true);
  int frames_wanted = kFramesAfterEvent;
  int touched = 0;  // frames still owed to the user's last input
  bool held = false;
  PresentedFrame presented;
  double caret_drawn = 0;
  double drawn = 0;
  while (!shell.closing()) {
    if (glfwWindowShouldClose(window) == GLFW_TRUE) {
      glfwSetWindowShouldClose(window, GLFW_FALSE);
      shell.carry_out(Action::Quit);
      input.any = true;
      continue;
    }
    const bool probed = probe != nullptr && probe->wants_frame(shell);
    if (probed) frames_wanted = std::max(frames_wanted, 1);
    if (!input.queue.empty()) frames_wanted = touched = kFramesAfterEvent;
    if (frames_wanted > 0 && !held) {
      glfwPollEvents();
    } else {
      glfwWaitEventsTimeout(kTickSeconds);
    }
    input.read = glfwGetTime();
    shell.seen(input.seen);
    const Moment before_news;
    if (shell.tick() || input.any) frames_wanted = kFramesAfterEvent;
    const Moment after_news;
    if (input.any) touched = kFramesAfterEvent;
    input.any = false;
    for (const std::string& path : input.dropped_files) shell.carry_out(OpenFile{path});
    input.dropped_files.clear();
    input.touring = shell.touring();
    input.presenting = shell.presenting();
    // A text caret blinks; nothing else moves by itself.
    const double now = glfwGetTime();
    if (ImGui::GetIO().WantTextInput && now - caret_drawn > kCaretSeconds) {
      frames_wanted = std::max(frames_wanted, 1);
    }
    held = touched == 0 && !probed && shell.timing() && now - drawn < kTimingSeconds;
    if (frames_wanted == 0 || held) continue;
    --frames_wanted;
    touched = std::max(touched - 1, 0);
    drawn = now;
    caret_drawn = now;
    follow_settings(theme, shell, false);
    shell.frames_follow(frames_wanted);
    FrameCost cost = draw_frame(window, shell, theme, input, presented, probe);
    cost.cpu += after_news.cpu - before_news.cpu;
    if (probe != nullptr) probe->drawn(shell, cost);
  }
  shell.remember();
  glfwGetWindowSize(window, &shell.settings().width, &shell.settings().height);
  glfwGetWindowPos(window, &shell.settings().x, &shell.settings().y);
  return shell.exit_code();
}

}  // namespace

int run_window(const WindowOptions& options) {
  if (const engine::Status loaded = load_display_libraries(); !loaded.ok()) {
    fmt::print(stderr, "expertscope: no window: {}; expertscope run works without one\n",
               loaded.error().message);
    return 1;
  }
  glfwSetErrorCallback([](int, const char* text) { fmt::print(stderr, "window: {}\n", text); });
  const Glfw glfw;
  if (!glfw.ready()) {
    fmt::print(stderr,
               "expertscope: no window: there is no display; expertscope run works without one\n");
    return 1;
  }
  const std::string path = settings_path();
  LoadedSettings loaded = load_settings(path);
  if (!loaded.problem.empty()) loaded.problem += ". " + set_aside_unreadable(path);
  Input input;
  const Surface surface(options, loaded.settings, input);
  if (surface.window() == nullptr) {
    fmt::print(stderr, "expertscope: no window: OpenGL 3.3 is not available on this display\n");
    return 1;
  }
  if (options.text_scale > 0) {
    loaded.settings.text_scale = std::clamp(options.text_scale, 0.8F, 2.0F);
  } else if (loaded.settings.text_scale <= 0) {
    loaded.settings.text_scale = display_scale(surface.window());
  }
  Shell shell(options, std::move(loaded), [] { glfwPostEmptyEvent(); });
  shell.begin();
  const int code = loop(surface.window(), shell, input, options.probe);
  // A tour must not change what the user has set.
  if (!options.tour_folder.empty()) return code;
  const std::string problem = save_settings(path, shell.settings());
  if (!problem.empty()) fmt::print(stderr, "{}\n", problem);
  return code;
}

}  // namespace app
