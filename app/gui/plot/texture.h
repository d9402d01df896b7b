// Owner of one GL texture. Only touched with the window's GL context current, which is when panels
// draw and when the window is torn down.
#pragma once

#include <imgui.h>

#include <vector>

namespace app::plot {

class Texture {
 public:
  Texture() = default;
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture();

  /// `pixels` [height, width], packed as ImU32.
  void upload(int width, int height, const std::vector<ImU32>& pixels);
  ImTextureID id() const;
  bool empty() const { return name_ == 0; }

 private:
  unsigned name_ = 0;
  int width_ = 0;
  int height_ = 0;
};

}  // namespace app::plot
