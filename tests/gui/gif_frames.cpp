// Decodes an animated GIF with stb_image, which knows nothing of our writer, for gif_test.py:
// standard input is the file; standard output is "FRAMES HEIGHT WIDTH\n", one line of milliseconds,
// then the frames as they are shown, RGB. Exit status 1: not a GIF that it reads.
#include <cstdio>
#include <memory>
#include <vector>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#include <stb/stb_image.h>

int main() {
  std::vector<stbi_uc> bytes;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    bytes.push_back(static_cast<stbi_uc>(c));
  }
  constexpr int kComponents = 3;
  int* delays = nullptr;
  int width = 0;
  int height = 0;
  int frames = 0;
  int stored = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_gif_from_memory(bytes.data(), static_cast<int>(bytes.size()), &delays, &width,
                                &height, &frames, &stored, kComponents),
      &stbi_image_free);
  const std::unique_ptr<int, decltype(&stbi_image_free)> kept(delays, &stbi_image_free);
  if (pixels == nullptr) {
    std::fprintf(stderr, "%s\n", stbi_failure_reason());
    return 1;
  }
  std::printf("%d %d %d\n", frames, height, width);
  for (int i = 0; i < frames; ++i) std::printf("%d ", delays[i]);
  std::printf("\n");
  const std::size_t size = static_cast<std::size_t>(frames) * static_cast<std::size_t>(height) *
                           static_cast<std::size_t>(width) * kComponents;
  return std::fwrite(pixels.get(), 1, size, stdout) == size ? 0 : 1;
}
