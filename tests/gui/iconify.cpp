// Tells the window with this title that a window manager has minimized or restored it: sets
// WM_STATE on it, which is how a window manager reports that. Xvfb has no window manager.
#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include <cstdio>
#include <string>

namespace {

constexpr long kNormalState = 1;
constexpr long kIconicState = 3;

Window find(Display* display, Window from, const std::string& title) {
  char* name = nullptr;
  if (XFetchName(display, from, &name) != 0 && name != nullptr) {
    const bool found = title == name;
    XFree(name);
    if (found) return from;
  }
  Window root = 0;
  Window parent = 0;
  Window* children = nullptr;
  unsigned count = 0;
  Window found = 0;
  if (XQueryTree(display, from, &root, &parent, &children, &count) == 0) return 0;
  for (unsigned i = 0; i < count && found == 0; ++i) found = find(display, children[i], title);
  if (children != nullptr) XFree(children);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "iconify TITLE away|back\n");
    return 2;
  }
  Display* display = XOpenDisplay(nullptr);
  if (display == nullptr) return 3;
  const Window window = find(display, DefaultRootWindow(display), argv[1]);
  if (window == 0) return 4;
  const Atom atom = XInternAtom(display, "WM_STATE", False);
  const long state[2] = {std::string(argv[2]) == "away" ? kIconicState : kNormalState, 0};
  XChangeProperty(display, window, atom, atom, 32, PropModeReplace,
                  reinterpret_cast<const unsigned char*>(state), 2);
  XCloseDisplay(display);
  return 0;
}
