#include "app/gui/shell/card_picture.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
// After GLFW. Framebuffer objects are newer than what every libGL exports: they are looked up.
#include <GL/gl.h>
#include <GL/glext.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <optional>
#include <type_traits>

#include "app/gui/shell/shell.h"

namespace app {
namespace {

constexpr float kTimes = 2.0F;
// ImGui knows the size of what it has drawn only in the next frame.
constexpr int kFramesToSettle = 2;

/// A colour buffer of its own to draw into and read from, while it exists.
class Offscreen {
 public:
  Offscreen(int width, int height) {
    const auto look_up = [](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(glfwGetProcAddress(name));
      return function != nullptr;
    };
    if (!look_up("glGenFramebuffers", generate_) || !look_up("glBindFramebuffer", bind_) ||
        !look_up("glFramebufferTexture2D", attach_) || !look_up("glDeleteFramebuffers", delete_) ||
        !look_up("glCheckFramebufferStatus", check_)) {
      return;
    }
    glGenTextures(1, &texture_);
    glBindTexture(GL_TEXTURE_2D, texture_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    generate_(1, &buffer_);
    bind_(GL_FRAMEBUFFER, buffer_);
    attach_(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
    ready_ = check_(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  }
  ~Offscreen() {
    if (buffer_ != 0) {
      bind_(GL_FRAMEBUFFER, 0);
      delete_(1, &buffer_);
    }
    if (texture_ != 0) glDeleteTextures(1, &texture_);
  }
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  bool ready() const { return ready_; }

 private:
  PFNGLGENFRAMEBUFFERSPROC generate_ = nullptr;
  PFNGLBINDFRAMEBUFFERPROC bind_ = nullptr;
  PFNGLFRAMEBUFFERTEXTURE2DPROC attach_ = nullptr;
  PFNGLDELETEFRAMEBUFFERSPROC delete_ = nullptr;
  PFNGLCHECKFRAMEBUFFERSTATUSPROC check_ = nullptr;
  GLuint texture_ = 0;
  GLuint buffer_ = 0;
  bool ready_ = false;
};

void use(Theme& theme) {
  theme.fonts = load_fonts(theme.scale);
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
  apply_style(theme);
}

/// ImGui's input and display as they are for the picture: larger, and without a pointer.
class PictureInput {
 public:
  explicit PictureInput(ImVec2 display) : io_(ImGui::GetIO()), before_(io_.DisplaySize) {
    std::ranges::copy(io_.MouseDown, down_.begin());
    io_.DisplaySize = display;
    io_.MousePos = ImVec2(-FLT_MAX, -FLT_MAX);
    std::ranges::fill(io_.MouseDown, false);
  }
  ~PictureInput() {
    io_.DisplaySize = before_;
    std::ranges::copy(down_, io_.MouseDown);
  }
  PictureInput(const PictureInput&) = delete;
  PictureInput& operator=(const PictureInput&) = delete;

 private:
  ImGuiIO& io_;
  ImVec2 before_;
  std::array<bool, 5> down_{};
};

}  // namespace

void write_card_picture(Shell& shell, Theme& theme) {
  const std::optional<PictureOrder> order = shell.take_due_picture();
  if (!order) return;
  Theme large = theme;
  large.scale = kTimes * theme.scale;
  use(large);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float caption = large.px(kCaptionHeight);
  PicturePass pass{.card = order->card,
                   .size = ImVec2(kTimes * order->width, kTimes * order->height)};
  {
    const PictureInput input(
        ImVec2(kTimes * display.x, std::max(kTimes * display.y, pass.size.y) + caption));
    for (int frame = 0; frame < kFramesToSettle; ++frame) {
      ImGui::NewFrame();
      shell.draw_picture(large, pass);
      ImGui::Render();
    }
  }
  const int width = static_cast<int>(std::lround(pass.max.x - pass.min.x));
  const int height = static_cast<int>(std::lround(pass.max.y - pass.min.y));
  if (width > 0 && height > 0) {
    const Offscreen buffer(width, height);
    if (buffer.ready()) {
      const ImVec4 background = ImGui::ColorConvertU32ToFloat4(theme.colors.window);
      glViewport(0, 0, width, height);
      glClearColor(background.x, background.y, background.z, 1.0F);
      glClear(GL_COLOR_BUFFER_BIT);
      ImDrawData* data = ImGui::GetDrawData();
      data->DisplayPos = pass.min;
      data->DisplaySize = ImVec2(static_cast<float>(width), static_cast<float>(height));
      data->FramebufferScale = ImVec2(1.0F, 1.0F);
      ImGui_ImplOpenGL3_RenderDrawData(data);
    }
    shell.save_card_picture(*order, width, height, buffer.ready());
  } else {
    shell.save_card_picture(*order, 0, 0, false);
  }
  use(theme);
}

}  // namespace app
