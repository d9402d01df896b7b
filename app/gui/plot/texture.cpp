// GL 1.1 calls suffice for a nearest-filtered image.
#include "app/gui/plot/heatmap_plot.h"

#include <GL/gl.h>
#include <GL/glext.h>

#include <cstdint>

namespace app::plot {

Texture::~Texture() {
  if (name_ != 0) glDeleteTextures(1, &name_);
}

void Texture::upload(int width, int height, const std::vector<ImU32>& pixels) {
  GLint bound = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound);
  if (name_ == 0) glGenTextures(1, &name_);
  glBindTexture(GL_TEXTURE_2D, name_);
  if (width != width_ || height != height_) {
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    // Cells stay sharp when zoomed in.
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 pixels.data());
    width_ = width;
    height_ = height;
  } else {
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.data());
  }
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound));
}

ImTextureID Texture::id() const {
  // ImTextureID is a pointer or an integer, depending on ImGui's version; both hold the GL name.
  return (ImTextureID)(std::intptr_t)name_;  // NOLINT
}

}  // namespace app::plot
