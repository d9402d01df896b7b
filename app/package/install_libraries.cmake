# Part of every installation: copies the shared libraries that the programs need into lib/expertscope, and the
# licences of what is not this project's. Given: lists of the files programs, loaded_by_name, and from_others.

# These are always the machine's own: glibc, the C++ runtime (Mesa loads it too, and there must be one of it), and
# whatever speaks to a display or a driver.
include(${CMAKE_CURRENT_LIST_DIR}/glibc_libraries.cmake)
list(TRANSFORM glibc_libraries REPLACE "\\.so\\..*" "" OUTPUT_VARIABLE glibc_names)
list(JOIN glibc_names "|" glibc_names)
set(of_the_machine
    "^(${glibc_names})\\.so"
    "^lib(stdc\\+\\+|gcc_s)\\.so"
    "^lib(GL|OpenGL|EGL|GLX|GLdispatch|GLES[^.]*|OSMesa|vulkan|drm|gbm)\\.so"
    "^lib(X[^.]*|xcb[^.]*|xkbcommon[^.]*|wayland-[^.]*|decor-0)\\.so"
    "^lib(cuda|nvidia-[^.]*)\\.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${loaded_by_name}
     PRE_EXCLUDE_REGEXES ${of_the_machine} POST_EXCLUDE_REGEXES "/ld-linux[^/]*$"
     RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "These libraries are needed and not installed here: ${missing}")
endif()

# Under the names that are looked for, without links: a wheel cannot hold any.
foreach(library IN LISTS libraries loaded_by_name)
  file(REAL_PATH ${library} content)
  get_filename_component(name ${library} NAME)
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/expertscope" TYPE FILE RENAME "${name}" FILES "${content}")
  list(APPEND from_others ${content})
endforeach()

# As their packages state them. Where there is no dpkg, none is found, and who passes the files on must add them.
find_program(dpkg_query dpkg-query)
foreach(file IN LISTS from_others)
  if(NOT dpkg_query)
    break()
  endif()
  # The package may know a file by its name from before /lib became a link to /usr/lib.
  string(REGEX REPLACE "^/usr/lib/" "/lib/" former ${file})
  foreach(path ${file} ${former})
    execute_process(COMMAND ${dpkg_query} --search ${path} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX MATCH "^[^:, ]+" package "${owner}")
    if(package AND EXISTS /usr/share/doc/${package}/copyright)
      file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/doc/expertscope/licenses" TYPE FILE RENAME "${package}.txt"
           FILES /usr/share/doc/${package}/copyright)
      break()
    endif()
  endforeach()
endforeach()
