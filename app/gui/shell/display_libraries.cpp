// GLFW and OpenGL are loaded when a window is opened, and not linked: the command line also runs on
// servers where nothing of a display is installed. Here are their functions that the window,
// ImGui's backends and the window's benchmark call; each passes its call on to the library. A
// function that is missing in the list is an error of the linker.
#include "app/gui/shell/display_libraries.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
// After GLFW.
#include <GL/gl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <initializer_list>

// clang-format off
// X(result, name, parameters, arguments)
#define GLFW_FUNCTIONS(X) \
  X(GLFWcursor*, glfwCreateStandardCursor, (int shape), (shape)) \
  X(GLFWwindow*, glfwCreateWindow, (int width, int height, const char* title, GLFWmonitor* monitor, GLFWwindow* share), (width, height, title, monitor, share)) \
  X(void, glfwDestroyCursor, (GLFWcursor* cursor), (cursor)) \
  X(void, glfwDestroyWindow, (GLFWwindow* window), (window)) \
  X(const char*, glfwGetClipboardString, (GLFWwindow* window), (window)) \
  X(void, glfwGetCursorPos, (GLFWwindow* window, double* xpos, double* ypos), (window, xpos, ypos)) \
  X(void, glfwGetFramebufferSize, (GLFWwindow* window, int* width, int* height), (window, width, height)) \
  X(int, glfwGetInputMode, (GLFWwindow* window, int mode), (window, mode)) \
  X(const float*, glfwGetJoystickAxes, (int jid, int* count), (jid, count)) \
  X(const unsigned char*, glfwGetJoystickButtons, (int jid, int* count), (jid, count)) \
  X(const char*, glfwGetKeyName, (int key, int scancode), (key, scancode)) \
  X(void, glfwGetMonitorWorkarea, (GLFWmonitor* monitor, int* xpos, int* ypos, int* width, int* height), (monitor, xpos, ypos, width, height)) \
  X(GLFWmonitor**, glfwGetMonitors, (int* count), (count)) \
  X(int, glfwGetMouseButton, (GLFWwindow* window, int button), (window, button)) \
  X(GLFWglproc, glfwGetProcAddress, (const char* procname), (procname)) \
  X(double, glfwGetTime, (), ()) \
  X(int, glfwGetWindowAttrib, (GLFWwindow* window, int attrib), (window, attrib)) \
  X(void, glfwGetWindowContentScale, (GLFWwindow* window, float* xscale, float* yscale), (window, xscale, yscale)) \
  X(void, glfwGetWindowPos, (GLFWwindow* window, int* xpos, int* ypos), (window, xpos, ypos)) \
  X(void, glfwGetWindowSize, (GLFWwindow* window, int* width, int* height), (window, width, height)) \
  X(void*, glfwGetWindowUserPointer, (GLFWwindow* window), (window)) \
  X(int, glfwInit, (), ()) \
  X(void, glfwMakeContextCurrent, (GLFWwindow* window), (window)) \
  X(void, glfwPollEvents, (), ()) \
  X(void, glfwPostEmptyEvent, (), ()) \
  X(GLFWcharfun, glfwSetCharCallback, (GLFWwindow* window, GLFWcharfun callback), (window, callback)) \
  X(void, glfwSetClipboardString, (GLFWwindow* window, const char* string), (window, string)) \
  X(void, glfwSetCursor, (GLFWwindow* window, GLFWcursor* cursor), (window, cursor)) \
  X(GLFWcursorenterfun, glfwSetCursorEnterCallback, (GLFWwindow* window, GLFWcursorenterfun callback), (window, callback)) \
  X(void, glfwSetCursorPos, (GLFWwindow* window, double xpos, double ypos), (window, xpos, ypos)) \
  X(GLFWcursorposfun, glfwSetCursorPosCallback, (GLFWwindow* window, GLFWcursorposfun callback), (window, callback)) \
  X(GLFWdropfun, glfwSetDropCallback, (GLFWwindow* window, GLFWdropfun callback), (window, callback)) \
  X(GLFWerrorfun, glfwSetErrorCallback, (GLFWerrorfun callback), (callback)) \
  X(GLFWframebuffersizefun, glfwSetFramebufferSizeCallback, (GLFWwindow* window, GLFWframebuffersizefun callback), (window, callback)) \
  X(void, glfwSetInputMode, (GLFWwindow* window, int mode, int value), (window, mode, value)) \
  X(GLFWkeyfun, glfwSetKeyCallback, (GLFWwindow* window, GLFWkeyfun callback), (window, callback)) \
  X(GLFWmonitorfun, glfwSetMonitorCallback, (GLFWmonitorfun callback), (callback)) \
  X(GLFWmousebuttonfun, glfwSetMouseButtonCallback, (GLFWwindow* window, GLFWmousebuttonfun callback), (window, callback)) \
  X(GLFWscrollfun, glfwSetScrollCallback, (GLFWwindow* window, GLFWscrollfun callback), (window, callback)) \
  X(GLFWwindowfocusfun, glfwSetWindowFocusCallback, (GLFWwindow* window, GLFWwindowfocusfun callback), (window, callback)) \
  X(GLFWwindowiconifyfun, glfwSetWindowIconifyCallback, (GLFWwindow* window, GLFWwindowiconifyfun callback), (window, callback)) \
  X(void, glfwSetWindowPos, (GLFWwindow* window, int xpos, int ypos), (window, xpos, ypos)) \
  X(GLFWwindowrefreshfun, glfwSetWindowRefreshCallback, (GLFWwindow* window, GLFWwindowrefreshfun callback), (window, callback)) \
  X(void, glfwSetWindowShouldClose, (GLFWwindow* window, int value), (window, value)) \
  X(void, glfwSetWindowSizeLimits, (GLFWwindow* window, int minwidth, int minheight, int maxwidth, int maxheight), (window, minwidth, minheight, maxwidth, maxheight)) \
  X(void, glfwSetWindowUserPointer, (GLFWwindow* window, void* pointer), (window, pointer)) \
  X(void, glfwSwapBuffers, (GLFWwindow* window), (window)) \
  X(void, glfwSwapInterval, (int interval), (interval)) \
  X(void, glfwTerminate, (), ()) \
  X(void, glfwWaitEventsTimeout, (double timeout), (timeout)) \
  X(void, glfwWindowHint, (int hint, int value), (hint, value)) \
  X(int, glfwWindowShouldClose, (GLFWwindow* window), (window))
#define GL_FUNCTIONS(X) \
  X(void, glBindTexture, (GLenum target, GLuint texture), (target, texture)) \
  X(void, glClear, (GLbitfield mask), (mask)) \
  X(void, glClearColor, (GLclampf red, GLclampf green, GLclampf blue, GLclampf alpha), (red, green, blue, alpha)) \
  X(void, glDeleteTextures, (GLsizei n, const GLuint* textures), (n, textures)) \
  X(void, glGenTextures, (GLsizei n, GLuint* textures), (n, textures)) \
  X(void, glGetIntegerv, (GLenum pname, GLint* params), (pname, params)) \
  X(const GLubyte*, glGetString, (GLenum name), (name)) \
  X(void, glPixelStorei, (GLenum pname, GLint param), (pname, param)) \
  X(void, glReadPixels, (GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, GLvoid* pixels), (x, y, width, height, format, type, pixels)) \
  X(void, glTexImage2D, (GLenum target, GLint level, GLint internalFormat, GLsizei width, GLsizei height, GLint border, GLenum format, GLenum type, const GLvoid* pixels), (target, level, internalFormat, width, height, border, format, type, pixels)) \
  X(void, glTexParameteri, (GLenum target, GLenum pname, GLint param), (target, pname, param)) \
  X(void, glTexSubImage2D, (GLenum target, GLint level, GLint xoffset, GLint yoffset, GLsizei width, GLsizei height, GLenum format, GLenum type, const GLvoid* pixels), (target, level, xoffset, yoffset, width, height, format, type, pixels)) \
  X(void, glViewport, (GLint x, GLint y, GLsizei width, GLsizei height), (x, y, width, height))
// clang-format on

// The type is that of the library's header. Before it is loaded, a function returns zero.
#define FORWARD(result, name, parameters, arguments)                                    \
  namespace {                                                                           \
  decltype(&::name) loaded_##name = nullptr;                                            \
  }                                                                                     \
  extern "C" result name parameters {                                                   \
    return loaded_##name != nullptr ? loaded_##name arguments : static_cast<result>(0); \
  }
GLFW_FUNCTIONS(FORWARD)
GL_FUNCTIONS(FORWARD)
#undef FORWARD

namespace app {
namespace {

struct Wanted {
  const char* name;
  void** loaded;
};
#define WANTED(result, name, parameters, arguments) \
  Wanted{#name, reinterpret_cast<void**>(&loaded_##name)},

/// Never closed: what the libraries have registered outlives the window.
engine::Status load(const char* library, std::initializer_list<Wanted> functions) {
  void* handle = ::dlopen(library, RTLD_LOCAL | RTLD_NOW);
  if (handle == nullptr) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("{} cannot be loaded ({}); install OpenGL and X11 (Debian and "
                                     "Ubuntu: libgl1 libx11-6)",
                                     library, ::dlerror())};
  }
  for (const Wanted& one : functions) {
    *one.loaded = ::dlsym(handle, one.name);
    if (*one.loaded == nullptr) {
      return engine::Error{engine::ErrorCode::Unsupported,
                           fmt::format("{} has no function {}", library, one.name)};
    }
  }
  return {};
}

}  // namespace

engine::Status load_display_libraries() {
  ENGINE_TRY(load("libglfw.so.3", {GLFW_FUNCTIONS(WANTED)}));
  return load("libGL.so.1", {GL_FUNCTIONS(WANTED)});
}

}  // namespace app
