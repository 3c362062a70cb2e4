# asio_infer_stage(NAME [LIBRARIES ...]): one folder below cpp/src becomes
#   asio_infer_NAME          a static library of all its .cpp files (a new file needs no line here; x_linux.cpp,
#                            x_posix.cpp and x_windows.cpp are left out on other systems)
#   asio_infer_NAME_headers  its headers, as "NAME/x.hpp"
# A stage sees its own headers, core's and the public ones. To keep the others out of reach, cpp/src is never on an
# include path: each stage is reached through a link of its own, <build>/include/NAME/NAME -> cpp/src/NAME.
set(ASIO_INFER_SYSTEM "")
if(WIN32)
  list(APPEND ASIO_INFER_SYSTEM windows)
endif()
if(UNIX)
  list(APPEND ASIO_INFER_SYSTEM posix)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(APPEND ASIO_INFER_SYSTEM linux)
endif()

function(asio_infer_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")

  set(include_dir "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${include_dir}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/cpp/src/${name}" "${include_dir}/${name}" SYMBOLIC)

  add_library(asio_infer_${name}_headers INTERFACE)
  target_include_directories(asio_infer_${name}_headers INTERFACE "${include_dir}")
  target_link_libraries(asio_infer_${name}_headers INTERFACE asio_infer_flags asio_infer_boost_headers)
  if(NOT name STREQUAL "core")
    target_link_libraries(asio_infer_${name}_headers INTERFACE asio_infer_core_headers)
  endif()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(system IN ITEMS linux posix windows)
    if(NOT system IN_LIST ASIO_INFER_SYSTEM)
      list(FILTER sources EXCLUDE REGEX "_${system}\\.cpp$")
    endif()
  endforeach()
  if(NOT sources)
    set(sources "${PROJECT_BINARY_DIR}/empty.cpp")
    file(WRITE "${sources}.new" "// This stage has no source file yet.\n")
    file(COPY_FILE "${sources}.new" "${sources}" ONLY_IF_DIFFERENT)
  endif()
  add_library(asio_infer_${name} STATIC ${sources})
  target_link_libraries(asio_infer_${name} PRIVATE asio_infer_${name}_headers ${arg_LIBRARIES})
endfunction()

# asio_infer_all_headers: every stage's headers, for the server and the tests.
# asio_infer: every stage's code. Stages call each other through interfaces, so no order among their archives is
# meant; the linker goes over them until nothing is missing.
function(asio_infer_join_stages)
  list(TRANSFORM ASIO_INFER_STAGES PREPEND asio_infer_ OUTPUT_VARIABLE libraries)
  list(TRANSFORM libraries APPEND _headers OUTPUT_VARIABLE headers)
  add_library(asio_infer_all_headers INTERFACE)
  target_link_libraries(asio_infer_all_headers INTERFACE ${headers})
  target_link_libraries(asio_infer_server PRIVATE asio_infer_all_headers)

  string(REPLACE ";" "," group "${libraries}")
  add_library(asio_infer INTERFACE)
  target_link_libraries(asio_infer INTERFACE "$<LINK_GROUP:RESCAN,${group}>" asio_infer_boost)
endfunction()
