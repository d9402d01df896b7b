// Acts as the window manager that Xvfb does not have, on the window with this title: tells it that
// it was minimized or restored (WM_STATE), or asks it to close (WM_DELETE_WINDOW).
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

void ask_to_close(Display* display, Window window) {
  XEvent event{};
  event.xclient.type = ClientMessage;
  event.xclient.window = window;
  event.xclient.message_type = XInternAtom(display, "WM_PROTOCOLS", False);
  event.xclient.format = 32;
  event.xclient.data.l[0] = static_cast<long>(XInternAtom(display, "WM_DELETE_WINDOW", False));
  event.xclient.data.l[1] = CurrentTime;
  XSendEvent(display, window, False, NoEventMask, &event);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "iconify TITLE away|back|close\n");
    return 2;
  }
  Display* display = XOpenDisplay(nullptr);
  if (display == nullptr) return 3;
  const Window window = find(display, DefaultRootWindow(display), argv[1]);
  if (window == 0) return 4;
  if (std::string(argv[2]) == "close") {
    ask_to_close(display, window);
    XCloseDisplay(display);
    return 0;
  }
  const Atom atom = XInternAtom(display, "WM_STATE", False);
  const long state[2] = {std::string(argv[2]) == "away" ? kIconicState : kNormalState, 0};
  XChangeProperty(display, window, atom, atom, 32, PropModeReplace,
                  reinterpret_cast<const unsigned char*>(state), 2);
  XCloseDisplay(display);
  return 0;
}
