# What is used from outside. Each missing piece stops the configuration with the name of the package that brings it.

# Boost: PyPI's cmeel-boost lays its files under cmeel.prefix/ of a site-packages folder. scikit-build-core puts the
# build environment's folder on CMAKE_PREFIX_PATH; a build by hand looks beside the Python that it builds for and in
# .venv/build-deps, where `make` puts it.
set(_boost_roots "")
foreach(_root IN LISTS CMAKE_PREFIX_PATH ASIO_INFER_SITE_PACKAGES ITEMS "${PROJECT_SOURCE_DIR}/.venv/build-deps")
  list(APPEND _boost_roots "${_root}/cmeel.prefix")
endforeach()
list(APPEND CMAKE_PREFIX_PATH ${_boost_roots})
find_package(Boost 1.90 CONFIG QUIET)
if(NOT Boost_FOUND)
  message(FATAL_ERROR "Boost 1.90 or newer is missing: pip install cmeel-boost (PyPI), or point Boost_DIR at another one")
endif()
message(STATUS "Boost ${Boost_VERSION_STRING}: ${Boost_INCLUDE_DIRS}")

find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  message(FATAL_ERROR "zlib's headers are missing: install the Debian package zlib1g-dev")
endif()

find_package(OpenSSL 3 QUIET)
if(NOT OpenSSL_FOUND)
  message(FATAL_ERROR "OpenSSL 3's headers are missing: install the Debian package libssl-dev")
endif()

find_path(NGHTTP2_INCLUDE_DIR nghttp2/nghttp2.h)
find_library(NGHTTP2_LIBRARY nghttp2)
if(NOT NGHTTP2_INCLUDE_DIR OR NOT NGHTTP2_LIBRARY)
  message(FATAL_ERROR "nghttp2 is missing: install the Debian package libnghttp2-dev")
endif()
add_library(asio_infer_nghttp2 INTERFACE)
target_include_directories(asio_infer_nghttp2 SYSTEM INTERFACE "${NGHTTP2_INCLUDE_DIR}")
target_link_libraries(asio_infer_nghttp2 INTERFACE "${NGHTTP2_LIBRARY}")

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)
if(NOT PROTOZERO_INCLUDE_DIR)
  message(FATAL_ERROR "protozero is missing: install the Debian package libprotozero-dev")
endif()
add_library(asio_infer_protozero INTERFACE)
target_include_directories(asio_infer_protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")

find_package(Threads REQUIRED)

if(ASIO_INFER_PYTHON)
  foreach(_root IN LISTS ASIO_INFER_SITE_PACKAGES ITEMS "${PROJECT_SOURCE_DIR}/.venv/build-deps")
    list(APPEND CMAKE_PREFIX_PATH "${_root}/pybind11")
  endforeach()
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 3 CONFIG QUIET)
  if(NOT pybind11_FOUND)
    message(FATAL_ERROR "pybind11 3 or newer is missing: pip install 'pybind11>=3' (PyPI)")
  endif()
endif()

if(BUILD_TESTING)
  find_package(doctest QUIET)
  if(NOT doctest_FOUND)
    message(FATAL_ERROR "doctest is missing: install the Debian package doctest-dev (or set BUILD_TESTING=OFF)")
  endif()
endif()
